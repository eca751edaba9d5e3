// Where the cell of each node is: blocks by group or rack, flowing like words, as large as the height allows.

const PITCHES = [26, 22, 19, 16, 14, 12, 10, 9, 8, 7, 6, 5];
const LABEL = 20;
const GAP = { x: 22, y: 12 };
const LETTER = 6.4;

/** The blocks: `{ name, nodes }`, nodes as positions in the action's order of names. Groups come in run order. */
export function blocks(places, by, order) {
  const named = new Map();
  const add = (name, node) => {
    if (!named.has(name)) named.set(name, []);
    named.get(name).push(node);
  };
  places.names.forEach((_, node) => {
    if (by === "rack") add(places.rack_of[node] === null ? "no rack" : places.racks[places.rack_of[node]], node);
    else {
      const held = places.groups_of[node];
      add(held.length ? places.groups[held[0]] : "no group", node);
    }
  });
  const found = [...named].map(([name, nodes]) => ({ name, nodes }));
  const rank = new Map(order.map((name, place) => [name, place]));
  const text = new Intl.Collator("en", { numeric: true });
  found.sort((one, other) => (by === "group"
    ? (rank.get(one.name) ?? 1e9) - (rank.get(other.name) ?? 1e9) : text.compare(one.name, other.name)));
  return found;
}

/** Positions of all cells, for a width and a height that should not be exceeded. */
export function arrange(found, total, width, tallest) {
  const pitch = PITCHES.find((one) => flow(found, width, one).height <= tallest) || PITCHES.at(-1);
  const { labels, height } = flow(found, width, pitch);
  const x = new Float32Array(total);
  const y = new Float32Array(total);
  const order = [];
  found.forEach(({ nodes }, block) => {
    const { x: left, y: top, columns } = labels[block];
    nodes.forEach((node, place) => {
      x[node] = left + (place % columns) * pitch;
      y[node] = top + LABEL + Math.floor(place / columns) * pitch;
      order.push(node);
    });
  });
  return { x, y, labels, order, pitch, width, height };
}

/** Where the blocks are at a size of the cells, in whole pixels. */
function flow(found, width, pitch) {
  const labels = [];
  let [left, top, tallest] = [0, 0, 0];
  for (const { name, nodes } of found) {
    const text = Math.ceil(`${name} ${nodes.length}`.length * LETTER);
    const widest = Math.max(1, Math.floor(width / pitch));
    const wanted = nodes.length <= 8 ? nodes.length : Math.ceil(Math.sqrt(nodes.length * 2.2));
    const columns = Math.min(widest, Math.max(wanted, Math.min(nodes.length, Math.floor(text / pitch))));
    const size = {
      width: Math.max(columns * pitch, Math.min(text + 8, 160)), height: LABEL + Math.ceil(nodes.length / columns) * pitch,
    };
    if (left > 0 && left + size.width > width) {
      left = 0;
      top += tallest + GAP.y;
      tallest = 0;
    }
    labels.push({ name, count: nodes.length, columns, x: left, y: top, width: size.width });
    left += size.width + GAP.x;
    tallest = Math.max(tallest, size.height);
  }
  return { labels, height: top + tallest };
}

/** A grid of the cells by place, to find the one below the pointer. */
export function finder(laid) {
  const size = 64;
  const grid = new Map();
  for (const node of laid.order) {
    const key = Math.floor(laid.x[node] / size) * 100_000 + Math.floor(laid.y[node] / size);
    if (!grid.has(key)) grid.set(key, []);
    grid.get(key).push(node);
  }
  return (x, y) => {
    for (let column = Math.floor((x - laid.pitch) / size); column <= Math.floor(x / size); column += 1) {
      for (let row = Math.floor((y - laid.pitch) / size); row <= Math.floor(y / size); row += 1) {
        for (const node of grid.get(column * 100_000 + row) || []) {
          if (x >= laid.x[node] && x < laid.x[node] + laid.pitch && y >= laid.y[node] && y < laid.y[node] + laid.pitch) return node;
        }
      }
    }
    return -1;
  };
}
