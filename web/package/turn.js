// Turns of the event loop.

/** Calls back in the next turn of the event loop, after promises and before timers where it can. */
export const nextTurn = globalThis.setImmediate ?? messageChannelTurn();

function messageChannelTurn() {
  const callbacks = [];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => callbacks.shift()();
  return (callback) => {
    callbacks.push(callback);
    port2.postMessage(undefined);
  };
}
