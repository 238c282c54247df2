// Where each place of the queue is drawn: along a path that turns at the top and the bottom, the oldest at the right.

/** Places of equal size for `count` elements within a rectangle. */
export class Grid {
  constructor(count, left, top, width, height) {
    let size = Math.min(64, height, width);
    while (size > 4 && Math.floor(width / size) * Math.floor(height / size) < count) size -= 0.5;
    this.size = size;
    this.rows = Math.max(1, Math.floor(height / size));
    this.columns = Math.max(1, Math.ceil(count / this.rows));
    this.right = left + width - size / 2;
    this.top = top + (height - this.rows * size) / 2 + size / 2;
  }

  /** The centre of a place. */
  at(place) {
    const column = Math.floor(place / this.rows);
    const row = place % this.rows;
    return {
      x: this.right - column * this.size,
      y: this.top + (column % 2 === 0 ? row : this.rows - 1 - row) * this.size,
    };
  }
}
