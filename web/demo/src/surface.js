// A canvas that is as sharp as the screen and as large as its place.

/** Calls `draw(context, width, height)` in units of CSS pixels. */
export class Surface {
  #canvas;
  #context;
  width = 0;
  height = 0;

  constructor(canvas, onResize = () => {}) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
    new ResizeObserver(() => {
      this.#fit();
      onResize();
    }).observe(canvas);
    this.#fit();
  }

  #fit() {
    const { clientWidth, clientHeight } = this.#canvas;
    const scale = Math.min(devicePixelRatio, 2);
    this.width = clientWidth;
    this.height = clientHeight;
    this.#canvas.width = Math.round(clientWidth * scale);
    this.#canvas.height = Math.round(clientHeight * scale);
    this.#context.setTransform(scale, 0, 0, scale, 0, 0);
  }

  draw(paint) {
    this.#context.clearRect(0, 0, this.width, this.height);
    paint(this.#context, this.width, this.height);
  }
}
