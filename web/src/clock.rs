//! The host's clock and its timers.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Closure<dyn FnMut()>, milliseconds: f64) -> JsValue;
    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// Nanoseconds on a clock that never goes back.
pub(crate) fn now() -> u64 {
    (performance_now() * 1e6) as u64
}

/// A timer that is set anew each time, and ends with this.
pub(crate) struct Timer {
    callback: Closure<dyn FnMut()>,
    set: Option<(JsValue, u64)>,
}

impl Timer {
    pub(crate) fn new(callback: impl FnMut() + 'static) -> Self {
        Self { callback: Closure::new(callback), set: None }
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
        let milliseconds = (at.saturating_sub(now()) as f64 / 1e6).ceil().min(LONGEST);
        self.set = Some((set_timeout(&self.callback, milliseconds), at));
    }

    /// It has called back, or is to be set anew even for the same time.
    pub(crate) fn clear(&mut self) {
        if let Some((timer, _)) = self.set.take() {
            clear_timeout(&timer);
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.clear();
    }
}
