// The film: a history as groups and cells with a time line, or a story of the model as steps. Plain JavaScript, no requests.
"use strict";

(() => {
  const $ = (id) => document.getElementById(id);
  const SPEEDS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
  const SVG = "http://www.w3.org/2000/svg";
  const FRAME = 1000 / 30;

  function make(tag, options = {}, ...children) {
    const svg = ["svg", "g", "circle", "path", "line", "rect", "text", "title", "use"].includes(tag);
    const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "text") element.textContent = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  // --- what plays: a history or a story. Both have steps, a place, and a way to show it -------------------------------

  class HistoryFilm {
    constructor(history) {
      this.history = history;
      this.entries = history.entries;
      this.steps = this.entries.flatMap((entry, at) => (Fold.isStep(entry) ? [at] : []));
      const times = (this.steps.length ? this.steps : [0, this.entries.length - 1]).map((at) => this.entries[at].time);
      const margin = 0.02 * (times[times.length - 1] - times[0]);
      this.begins = Math.max(0, times[0] - margin);
      this.end = times[times.length - 1] + margin;
      this.faults = this.entries.flatMap((entry, at) => (Fold.isFault(entry) ? [at] : []));
      const wanted = Math.max(this.end - this.begins, 0.1) / 45;
      this.speed = SPEEDS.reduce((best, speed) => (Math.abs(Math.log(speed / wanted)) < Math.abs(Math.log(best / wanted)) ? speed : best));
      this.seek(this.begins);
    }

    // Everything that has happened by a time; going on needs only what is new.
    seek(time, through = null) {
      const until = through === null ? this.after(time) : through + 1;
      if (!this.state || until < this.place) {
        this.state = Fold.begin(this.history);
        this.place = 0;
      }
      for (; this.place < until; this.place += 1) Fold.apply(this.state, this.entries[this.place]);
      this.time = time;
      this.last = this.lastStep();
    }

    after(time) {
      let low = 0;
      let high = this.entries.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.entries[middle].time <= time) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    lastStep() {
      for (let at = this.place - 1; at >= 0; at -= 1) if (Fold.isStep(this.entries[at])) return at;
      return -1;
    }

    step(by) {
      const index = this.steps.findIndex((at) => at >= this.place);
      const here = index === -1 ? this.steps.length : index;
      const to = by > 0 ? Math.min(here + by - 1, this.steps.length - 1) : Math.max(here - 1 + by, 0);
      const at = this.steps[to];
      if (at !== undefined) this.seek(this.entries[at].time, at);
    }

    toFault(by) {
      const at = by > 0 ? this.faults.find((one) => one >= this.place) : this.faults.findLast((one) => one < this.place - 1);
      if (at !== undefined) this.seek(this.entries[at].time, at);
    }

    share() {
      return this.end > this.begins ? (this.time - this.begins) / (this.end - this.begins) : 1;
    }

    toShare(share) {
      this.seek(this.begins + share * (this.end - this.begins));
    }

    // Return whether the film goes on after so many milliseconds.
    play(milliseconds) {
      this.seek(Math.min(this.time + (milliseconds / 1000) * this.speed, this.end));
      return this.time < this.end;
    }

    clock() {
      return `${Math.max(0, this.time - this.begins).toFixed(2)} s of ${(this.end - this.begins).toFixed(2)} s`;
    }

    pace() {
      return this.speed === 1 ? "as it was" : this.speed > 1 ? `${this.speed} × faster` : `${Math.round(1 / this.speed)} × slower`;
    }

    sentence() {
      return this.last < 0 ? "" : Fold.sentence(this.entries[this.last]);
    }

    isFault() {
      return this.last >= 0 && Fold.isFault(this.entries[this.last]);
    }

    // -- showing it

    build() {
      const groups = this.state.groups;
      this.shown = groups;
      const rank = new Map();
      const rankOf = (name, seen = new Set()) => {
        if (rank.has(name)) return rank.get(name);
        const group = groups.find((one) => one.name === name);
        if (!group || seen.has(name)) return -1;
        const found = 1 + Math.max(-1, ...group.depends_on.map((parent) => rankOf(parent, new Set([...seen, name]))));
        rank.set(name, found);
        return found;
      };
      groups.forEach((group) => rankOf(group.name));
      const levels = [];
      for (const group of groups) (levels[rank.get(group.name)] ||= []).push(group);
      const inGroups = new Set(groups.flatMap((group) => group.nodes));
      const others = [...this.state.nodes.keys()].filter((name) => !inGroups.has(name));
      if (others.length) (levels[0] ||= []).push({ name: groups.length ? "in no group" : "nodes", nodes: others, depends_on: [], status: "" });
      this.cells = [];
      this.cards = new Map();
      const size = this.state.nodes.size;
      const holder = make("div", { class: size > 120 ? "groups many" : size > 40 ? "groups" : "groups few" });
      for (const level of levels) holder.append(make("div", { class: "level" }, ...(level || []).map((group) => this.card(group))));
      this.arrows = make("svg", { class: "arrows", "aria-hidden": "true" });
      document.body.classList.remove("of-story");
      $("stage").replaceChildren(this.arrows, holder);
      this.connect();
      this.lanes();
    }

    card(group) {
      const status = make("span", { class: "status" });
      const title = make("h2", {}, group.name, ...(group.critical ? [make("span", { class: "critical", text: "critical" })] : []), status);
      const wants = Object.entries(group.success_criteria || {}).map(([name, value]) => ({
        percent_successful_nodes: `at least ${value} %`, minimum_successful_nodes: `at least ${value}`, maximum_failed_nodes: `at most ${value} failed`,
      })[name]);
      const nodes = make("div", { class: "nodes" }, ...group.nodes.map((name) => this.cell(name)));
      const card = make("div", { class: "group" }, title, make("p", { class: "wants", text: wants.join(", ") || (group.status === "" ? "" : "any outcome will do") }), nodes);
      this.cards.set(group.name, { card, status });
      return card;
    }

    cell(name) {
      const ring = make("circle", { cx: 20, cy: 20, r: 16, class: "ring" });
      const disc = make("circle", { cx: 20, cy: 20, r: 9.5, class: "disc" });
      const half = make("path", { d: "M20 11a9 9 0 0 1 0 18z", class: "half", visibility: "hidden" });
      const mark = make("text", { x: 20, y: 20.5, class: "mark" });
      const lock = make("use", { href: "#lock", x: 30, y: -3, width: 11, height: 13, class: "lock", visibility: "hidden" });
      const picture = make("svg", { viewBox: "0 0 40 40", class: "cell", role: "img" }, ring, disc, half, mark, lock);
      const element = make("div", { class: "node" }, picture, make("span", { text: name, title: name }));
      this.cells.push({ name, element, picture, ring, disc, half, mark, lock, drawn: "" });
      return element;
    }

    connect() {
      const stage = $("stage").getBoundingClientRect();
      this.paths = [];
      this.arrows.replaceChildren();
      for (const group of this.state.groups) {
        for (const parent of group.depends_on) {
          const from = this.cards.get(parent)?.card.getBoundingClientRect();
          const to = this.cards.get(group.name)?.card.getBoundingClientRect();
          if (!from || !to || to.left <= from.right) continue;
          const [x1, y1] = [from.right - stage.left, from.top - stage.top + from.height / 2];
          const [x2, y2] = [to.left - stage.left, to.top - stage.top + to.height / 2];
          const bend = Math.max((x2 - x1) / 2, 14);
          const path = make("path", { d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
          this.paths.push({ path, parent });
          this.arrows.append(path);
        }
      }
    }

    show() {
      const { state } = this;
      if (this.shown !== state.groups) this.build();
      const held = new Map([...state.holds.values()].flatMap((hold) => hold.nodes.map((name) => [name, hold])));
      const differ = [];
      for (const cell of this.cells) {
        const it = state.nodes.get(cell.name);
        const differs = it.machine !== it.known;
        if (differs) differ.push([cell.name, it]);
        const drawn = `${it.machine} ${it.known} ${it.intent} ${it.working} ${held.has(cell.name)}`;
        if (drawn === cell.drawn) continue;
        cell.drawn = drawn;
        cell.ring.setAttribute("class", `ring ${it.known}${it.intent ? " intent" : ""}`);
        cell.disc.setAttribute("class", `disc ${it.machine}${it.working ? " works" : ""}`);
        cell.half.setAttribute("visibility", it.machine === "prepared" ? "visible" : "hidden");
        cell.mark.textContent = { done: "✓", failed: "✕" }[it.machine] || "";
        cell.lock.setAttribute("visibility", held.has(cell.name) ? "visible" : "hidden");
        cell.element.classList.toggle("differs", differs);
        cell.picture.setAttribute("aria-label", `${cell.name}: the machine ${Fold.WORDS[it.machine]}, the database knows ${Fold.WORDS[it.known]}${it.intent ? ", outcome unknown" : ""}${held.has(cell.name) ? ", held" : ""}`);
      }
      for (const group of state.groups) {
        const { card, status } = this.cards.get(group.name);
        card.dataset.status = group.status;
        status.textContent = `${String(group.status).replaceAll("_", " ")}${group.reason ? `: ${group.reason}` : ""}`;
      }
      for (const { path, parent } of this.paths) {
        const group = state.groups.find((one) => one.name === parent);
        path.setAttribute("class", { success: "open", failed: "shut" }[group.status] || "");
      }
      this.knows();
      $("differ").replaceChildren(...(differ.length
        ? differ.slice(0, differ.length > 6 ? 5 : 6).map(([name, it]) => make("li", {}, make("span", { text: `${name}: ${Fold.WORDS[it.machine]}` }), make("i", { text: `recorded: ${Fold.WORDS[it.known]}` })))
        : [make("li", { class: "calm", text: "Nowhere: the record has all of it." })]));
      if (differ.length > 6) $("differ").append(make("li", { class: "calm", text: `and ${differ.length - 5} more` }));
      this.log();
      const x = this.x(this.time);
      this.head.setAttribute("x1", x);
      this.head.setAttribute("x2", x);
    }

    knows() {
      const { state } = this;
      const rows = [
        ["action", state.action ? `${state.action.name}, ${state.stopped && state.action.state === "running" ? "stopped" : state.paused ? "paused" : state.action.state}` : "none"],
        ["journal", state.row ? `row ${state.row}` : "nothing yet"],
        ["turn", state.epoch === null ? "none yet" : `epoch ${state.epoch}, by ${state.worker}`],
      ];
      if (state.waits) rows.push(["waits for", state.waits]);
      if (state.window !== null) rows.push(["window", state.window ? "open" : "closed"]);
      if (state.holds.size) rows.push(["holds", [...state.holds.values()].map((hold) => hold.nodes.join(", ")).join("; ")]);
      const intents = [...state.intents.values()];
      const list = make("ul", { class: "intents" }, ...intents.slice(0, 3).map((intent) => make("li", {},
        `${intent.operation} of ${intent.nodes.length > 3 ? `${intent.nodes.length} nodes` : intent.nodes.join(", ")}: intended, outcome unknown `,
        make("code", { text: String(intent.marker).slice(0, 13) }))));
      $("knows").replaceChildren(make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])), list);
    }

    log() {
      const at = this.steps.indexOf(this.last);
      const from = Math.max(0, Math.min(at - 3, this.steps.length - 9));
      const items = this.steps.slice(from, from + 9).map((place) => {
        const entry = this.entries[place];
        const kind = place === this.last ? "now" : Fold.isFault(entry) ? "fault" : "";
        return make("li", { class: kind, text: Fold.sentence(entry), onclick: () => player.go(() => this.seek(entry.time, place)) });
      });
      $("lines").replaceChildren(...items);
    }

    x(time) {
      const share = this.end > this.begins ? (time - this.begins) / (this.end - this.begins) : 1;
      return this.left + share * (this.width - this.left - 8);
    }

    // The time line: faults and operators on top, a lane for each worker, then the work of the machines.
    lanes() {
      const svg = $("lanes");
      this.width = Math.max(svg.clientWidth, 300);
      this.left = 92;
      const operators = new Set(["operator", "api", "clock"]);
      const names = ["faults", "people"];
      for (const entry of this.entries) {
        if (entry.journal !== undefined && !operators.has(entry.process) && entry.process !== "database" && !names.includes(entry.process)) names.push(entry.process);
      }
      const workers = names.slice(0, 8);
      const busy = new Map();
      const bars = [];
      for (const entry of this.entries.filter((one) => Fold.isPeer(one) && Fold.DOING[one.operation])) {
        for (const name of entry.nodes) {
          const bar = busy.get(name);
          if (bar && entry.type !== "info") {
            Object.assign(bar, { to: entry.time, kind: entry.type === "fail" ? "failed" : bar.kind });
            busy.delete(name);
          }
          if (entry.type === "invoke") {
            bars.push({ name, from: entry.time, to: this.end, kind: Fold.DOING[entry.operation] });
            busy.set(name, bars[bars.length - 1]);
          }
        }
      }
      const machines = [...new Set(bars.map((bar) => bar.name))];
      const tall = Math.max(1.5, Math.min(6, 76 / Math.max(machines.length, 1)));
      const top = workers.length * 18 + 6;
      const height = top + machines.length * tall + 8;
      svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
      svg.style.height = `${height}px`;
      svg.replaceChildren();
      let since = null;
      for (const entry of [...this.entries.filter((one) => one.operation === "window"), { time: this.end, value: { open: true } }]) {
        if (since !== null && entry.value.open) svg.append(make("rect", { class: "closed", x: this.x(since), y: 0, width: Math.max(0, this.x(entry.time) - this.x(since)), height }, make("title", { text: "the maintenance window is closed" })));
        since = entry.value.open ? null : since ?? entry.time;
      }
      workers.forEach((name, row) => {
        svg.append(make("text", { x: 0, y: row * 18 + 13, text: name.length > 14 ? `${name.slice(0, 13)}…` : name }), make("line", { class: "lane", x1: this.left, x2: this.width, y1: row * 18 + 9, y2: row * 18 + 9 }));
      });
      svg.append(make("text", { x: 0, y: top + Math.min(machines.length * tall, 12), text: "machines" }));
      for (const entry of this.entries) {
        const x = this.x(entry.time);
        const title = make("title", { text: `${entry.time.toFixed(2)} s  ${Fold.sentence(entry)}` });
        if (Fold.isFault(entry)) svg.append(make("path", { class: "flag", d: `M${x} 2h9l-3 4 3 4h-7.5v7h-1.5z` }, title));
        else if (operators.has(entry.process) && Fold.isStep(entry)) svg.append(make("circle", { cx: x, cy: 27, r: 3.5, class: "tick" }, title));
        else if (workers.includes(entry.process) && entry.journal !== undefined) {
          const y = workers.indexOf(entry.process) * 18 + 9;
          const long = entry.marker !== undefined ? 7 : 4;
          svg.append(make("line", { class: `tick ${entry.marker !== undefined ? "intent" : entry.type}`, x1: x, x2: x, y1: y - long, y2: y + long }, title));
        }
      }
      for (const bar of bars) {
        const y = top + machines.indexOf(bar.name) * tall;
        const title = make("title", { text: `${bar.name}: ${Fold.WORDS[bar.kind]}, ${bar.from.toFixed(2)} s to ${bar.to.toFixed(2)} s` });
        svg.append(make("rect", { class: `bar ${bar.kind}`, x: this.x(bar.from), y, width: Math.max(1.5, this.x(bar.to) - this.x(bar.from)), height: Math.max(tall - 1, 1) }, title));
      }
      this.head = make("line", { class: "head", y1: 0, y2: height });
      svg.append(this.head);
    }

    click(event) {
      const box = $("lanes").getBoundingClientRect();
      const share = (event.clientX - box.left - this.left) / (this.width - this.left - 8);
      this.toShare(Math.max(0, Math.min(1, share)));
    }
  }

  class StoryFilm {
    constructor(story) {
      this.story = story;
      this.place = 0;
      this.speed = 1;
      this.waited = 0;
    }

    get length() {
      return this.story.steps.length + 1;
    }

    step(by) {
      this.place = Math.max(0, Math.min(this.length, this.place + by));
    }

    toFault() {
      this.place = this.length;
    }

    share() {
      return this.place / this.length;
    }

    toShare(share) {
      this.place = Math.round(share * this.length);
    }

    play(milliseconds) {
      this.waited += milliseconds * this.speed;
      if (this.waited > 1600) {
        this.waited = 0;
        this.step(1);
      }
      return this.place < this.length;
    }

    clock() {
      return `step ${Math.min(this.place, this.length - 1)} of ${this.length - 1}`;
    }

    pace() {
      return `${this.speed} ×`;
    }

    sentence() {
      if (this.place === this.length) return `Violated: ${this.story.what}`;
      return this.place ? this.story.steps[this.place - 1] : `The rule that is broken in this story: ${this.story.broken}.`;
    }

    isFault() {
      return this.place === this.length;
    }

    static laneOf(label) {
      const worker = label.match(/^worker (\d+)/);
      if (worker) return `worker ${worker[1]}`;
      if (/ s pass(es)?$/.test(label)) return "clock";
      if (label.includes("operator")) return "operator";
      if (/arrives|the peer/.test(label)) return "peer";
      return "database";
    }

    build() {
      const lanes = this.story.steps.map(StoryFilm.laneOf);
      const order = ["operator", "worker 1", "worker 2", "worker 3", "database", "peer"].filter((name) => lanes.includes(name) || ["worker 1", "peer"].includes(name));
      this.rows = this.story.steps.map((label, at) => {
        const lane = lanes[at];
        const text = label.replace(/^worker \d+ /, "");
        const slots = lane === "clock"
          ? [make("div", { class: "slot clock" }, make("div", { class: "box", text }))]
          : order.map((name) => make("div", { class: `slot ${name}` }, ...(name === lane ? [make("div", { class: "box", text })] : [])));
        if (lane === "clock") slots[0].style.gridColumn = `2 / span ${order.length}`;
        return make("div", { class: "step", onclick: () => player.go(() => (this.place = at + 1)) }, make("b", { text: String(at + 1) }), ...slots);
      });
      this.ending = make("div", { class: "end" }, make("b", { text: `${this.story.what}.` }), ` The rule that was broken to get here: ${this.story.broken}. With the rule, the model finds no such story.`);
      const heads = make("div", { class: "heads" }, make("span"), ...order.map((name) => make("span", { text: name })));
      const holder = make("div", { class: "story" }, heads, ...this.rows, this.ending);
      holder.style.setProperty("--lanes", order.length);
      $("stage").replaceChildren(holder);
      $("lanes").replaceChildren();
      $("lanes").style.height = "0";
      document.body.classList.add("of-story");
    }

    show() {
      this.rows.forEach((row, at) => {
        row.classList.toggle("ahead", at >= this.place);
        row.classList.toggle("now", at === this.place - 1);
      });
      this.ending.classList.toggle("ahead", this.place < this.length);
      const shown = this.place === this.length ? this.ending : this.rows[this.place - 1];
      if (shown) shown.scrollIntoView({ block: "nearest" });
      const rows = [["shortest", "no shorter story shows it"], ["states seen", this.story.states.toLocaleString("en")], ["steps", String(this.length - 1)]];
      $("knows").replaceChildren(make("dl", {}, ...rows.flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })])));
      $("lines").replaceChildren(...this.story.steps.map((label, at) => make("li", { class: at === this.place - 1 ? "now" : "", text: `${at + 1}. ${label}`, onclick: () => player.go(() => (this.place = at + 1)) })));
      const now = $("lines").querySelector(".now");
      $("lines").scrollTop = now ? Math.max(0, now.offsetTop - $("lines").offsetTop - 60) : 0;
    }

    click() {}
  }

  // --- the player -----------------------------------------------------------------------------------------------------

  const player = {
    film: null,
    playing: false,
    then: 0,

    load(film, about) {
      this.stop();
      this.film = film;
      $("about").replaceChildren(...about);
      $("knows-title").textContent = film instanceof StoryFilm ? "The model" : "What the database knew now";
      $("legend").hidden = film instanceof StoryFilm;
      $("fault").disabled = film instanceof HistoryFilm && !film.faults.length;
      film.build();
      this.draw();
    },

    // A jump, whoever asks for it: the film pauses there.
    go(change) {
      this.stop();
      change();
      this.draw();
    },

    toggle() {
      if (this.playing) return this.stop();
      if (this.film.share() >= 1) this.film.toShare(0);
      this.playing = true;
      this.then = performance.now();
      $("play").textContent = "⏸ pause";
      requestAnimationFrame((now) => this.frame(now));
    },

    stop() {
      this.playing = false;
      $("play").textContent = "▶ play";
    },

    frame(now) {
      if (!this.playing) return;
      if (now - this.then >= FRAME) {
        const goes = this.film.play(Math.min(now - this.then, 250));
        this.then = now;
        if (!goes) this.stop();
        this.draw();
      }
      requestAnimationFrame((later) => this.frame(later));
    },

    pace(by) {
      const at = SPEEDS.indexOf(this.film.speed);
      this.film.speed = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at + by))];
      this.draw();
    },

    draw() {
      const { film } = this;
      film.show();
      $("scrub").value = String(Math.round(film.share() * 1000));
      $("scrub").setAttribute("aria-valuetext", film.clock());
      $("clock").textContent = film.clock();
      $("speed").textContent = film.pace();
      const say = film.sentence();
      if ($("say").textContent !== say) $("say").textContent = say;
      $("say").classList.toggle("fault", film.isFault());
      $("say").setAttribute("aria-live", this.playing ? "off" : "polite");
    },
  };

  function aboutHistory(header, checked) {
    const facts = [
      `made by ${header.made_by}`, header.scenario && `scenario ${header.scenario}`, header.provisioner && `provisioner ${header.provisioner}`,
      header.seed !== null && header.seed !== undefined && `seed ${header.seed}`, header.commit && `commit ${String(header.commit).slice(0, 10)}`,
      header.release && `release ${header.release}`,
    ].filter(Boolean);
    const verdict = checked ? make("span", { class: "good", text: `check_history: ${checked}.` }) : make("span", { text: "Check it with python -m check_history FILE." });
    return [`A recorded run, ${facts.join(", ")}. `, verdict];
  }

  const data = window.SHIPYARD_FILM || { histories: [], stories: [] };
  const choices = [
    ...data.histories.map((one) => ({ group: "Recorded runs", title: one.title, load: () => player.load(new HistoryFilm(Fold.parse(one.text)), aboutHistory(JSON.parse(one.text.split("\n", 1)[0]), one.checked)) })),
    ...data.stories.map((one) => ({ group: "Stories of the model", title: one.name, load: () => player.load(new StoryFilm(one), ["The model explores every order of events of the protocol. One rule is broken on purpose: ", make("b", { text: one.broken }), ". This is the shortest way in which that shows."]) })),
  ];

  function choose(at) {
    $("pick").value = String(at);
    window.history.replaceState(null, "", `#${at}`);
    choices[at].load();
  }

  function openText(name, text) {
    try {
      const history = Fold.parse(text);
      player.load(new HistoryFilm(history), [make("b", { text: name }), ". ", ...aboutHistory(history.header, "")]);
      $("pick").value = "";
    } catch (error) {
      player.stop();
      $("about").replaceChildren(make("b", { text: `${name} cannot be played: ${error.message}.` }));
    }
  }

  async function openFile(file) {
    if (file) openText(file.name, await file.text());
  }

  const THEMES = ["", "light", "dark"];
  function theme() {
    const now = document.documentElement.dataset.theme || "";
    document.documentElement.dataset.theme = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    $("theme").textContent = document.documentElement.dataset.theme || "Theme";
  }

  const ACTIONS = {
    play: () => player.toggle(),
    back: () => player.go(() => player.film.step(-1)),
    next: () => player.go(() => player.film.step(1)),
    first: () => player.go(() => player.film.toShare(0)),
    last: () => player.go(() => player.film.toShare(1)),
    fault: () => player.go(() => player.film.toFault(1)),
    slower: () => player.pace(-1),
    faster: () => player.pace(1),
    open: () => $("file").click(),
    help: () => $("keys").showModal(),
    theme,
  };
  for (const [id, act] of Object.entries(ACTIONS)) $(id).addEventListener("click", act);
  $("file").addEventListener("change", () => openFile($("file").files[0]));
  $("scrub").addEventListener("input", () => player.go(() => player.film.toShare(Number($("scrub").value) / 1000)));
  $("lanes").addEventListener("click", (event) => player.go(() => player.film.click(event)));
  $("pick").addEventListener("change", () => $("pick").value && choose(Number($("pick").value)));
  window.addEventListener("resize", () => player.film && (player.film.build(), player.draw()));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    openFile(event.dataTransfer.files[0]);
  });

  const KEYS = {
    " ": ACTIONS.play, Home: ACTIONS.first, End: ACTIONS.last, n: ACTIONS.fault, p: () => player.go(() => player.film.toFault(-1)),
    "+": ACTIONS.faster, "=": ACTIONS.faster, "-": ACTIONS.slower, t: theme, o: ACTIONS.open, "?": ACTIONS.help,
  };
  document.addEventListener("keydown", (event) => {
    const within = event.target.closest("select, dialog, input[type=range]");
    if (event.ctrlKey || event.metaKey || event.altKey || !player.film || (within && within.matches("dialog, select"))) return;
    if (within && ["Home", "End", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    if (event.target.tagName === "BUTTON" && event.key === " ") return;
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const act = steps ? () => player.go(() => player.film.step(steps * (event.shiftKey ? 10 : 1))) : KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  $("pick").append(make("option", { value: "", text: "choose …", hidden: "" }));
  for (const group of new Set(choices.map((one) => one.group))) {
    const options = choices.map((one, at) => ({ ...one, at })).filter((one) => one.group === group);
    $("pick").append(make("optgroup", { label: group }, ...options.map((one) => make("option", { value: one.at, text: one.title }))));
  }
  const asked = Number(window.location.hash.slice(1));
  if (choices.length) choose(choices[asked] ? asked : 0);
  else $("about").textContent = "Open a history: a file that shipyard demo --history FILE has written, or drop one here.";
})();
