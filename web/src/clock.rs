//! The clock that an operator lives by, and its timers.

use std::{cell::Cell, rc::Rc};

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `now()` in milliseconds, and `setTimeout` and `clearTimeout` as the platform has them.
    pub type JsClock;
    #[wasm_bindgen(method)]
    fn now(this: &JsClock) -> f64;
    #[wasm_bindgen(method, js_name = setTimeout)]
    fn set_timeout(this: &JsClock, callback: &Closure<dyn FnMut()>, milliseconds: f64) -> JsValue;
    #[wasm_bindgen(method, js_name = clearTimeout)]
    fn clear_timeout(this: &JsClock, timer: &JsValue);
}

/// Tells the time, which never goes back, whatever the clock says.
#[derive(Clone)]
pub(crate) struct Clock {
    clock: Rc<JsClock>,
    latest: Rc<Cell<u64>>,
}

impl Clock {
    pub(crate) fn new(clock: JsClock) -> Self {
        Self { clock: Rc::new(clock), latest: Rc::default() }
    }

    /// Nanoseconds.
    pub(crate) fn now(&self) -> u64 {
        let now = self.latest.get().max((self.clock.now() * 1e6) as u64);
        self.latest.set(now);
        now
    }
}

/// A timer that is set anew each time, and ends with this.
pub(crate) struct Timer {
    clock: Clock,
    callback: Closure<dyn FnMut()>,
    set: Option<(JsValue, u64)>,
}

impl Timer {
    pub(crate) fn new(clock: Clock, callback: impl FnMut() + 'static) -> Self {
        Self { clock, callback: Closure::new(callback), set: None }
    }

    /// Calls back at `at`, and not before; at no time where there is none.
    pub(crate) fn set(&mut self, at: Option<u64>) {
        /// The longest that hosts can wait for; it is then set again.
        const LONGEST: f64 = i32::MAX as f64;
        if self.set.as_ref().map(|(_, set)| *set) == at {
            return;
        }
        self.clear();
        let Some(at) = at else { return };
        let milliseconds = (at.saturating_sub(self.clock.now()) as f64 / 1e6).ceil().min(LONGEST);
        self.set = Some((self.clock.clock.set_timeout(&self.callback, milliseconds), at));
    }

    /// It has called back, or is to be set anew even for the same time.
    pub(crate) fn clear(&mut self) {
        if let Some((timer, _)) = self.set.take() {
            self.clock.clock.clear_timeout(&timer);
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.clear();
    }
}
