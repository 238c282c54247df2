// The last joined records, as rows of a table.

const ROWS = 10;
const NAMES = { found: "found", missing: "no airport", failed: "failed", "timed-out": "timed out" };

/** Newest first; drawn a few times a second, however many there are. */
export class Table {
  #body;
  #rows = [];
  #changed = false;

  constructor(body) {
    this.#body = body;
  }

  add({ record, outcome, rows, attempts }, latency) {
    this.#rows.unshift({ record, outcome, row: rows[0], attempts, latency });
    this.#rows.length = Math.min(this.#rows.length, ROWS);
    this.#changed = true;
  }

  draw() {
    if (!this.#changed) return;
    this.#changed = false;
    this.#body.replaceChildren(
      ...this.#rows.map(({ record, outcome, row, attempts, latency }) => {
        const line = document.createElement("tr");
        line.append(
          cell(String(record.place), "number"),
          cell(`${record.origin} → ${record.destination}`),
          cell(row ? `${row.name}, ${row.city} ${row.state}` : "–", "wide"),
          cell(NAMES[outcome], `outcome ${outcome}`),
          cell(String(attempts), "number"),
          cell(`${Math.round(latency)} ms`, "number"),
        );
        return line;
      }),
    );
  }
}

function cell(text, kind = "") {
  const cell = document.createElement("td");
  cell.textContent = text;
  cell.className = kind;
  return cell;
}
