// Reads a history (docs/reference/history.md) and folds its entries: what the machines are, and what the database knows.
"use strict";

const Fold = (() => {
  const PEERS = new Set(["drydock", "maas", "ironic", "kubernetes"]);
  const DOING = { prepare: "preparing", deploy: "deploying", service: "deploying", destroy: "away" };
  const DONE = { prepare: "prepared", deploy: "done", service: "done", destroy: "idle" };
  const KNOWN = { not_started: "idle", prepared: "prepared", success: "done", failure: "failed" };
  const WORDS = {
    idle: "untouched", preparing: "is being prepared", prepared: "prepared", deploying: "is being deployed", done: "deployed",
    failed: "failed", away: "is being destroyed",
  };
  const QUIET = new Set(["reading", "end", "journal", "step", "started"]);

  function parse(text) {
    const lines = text.split("\n").filter((line) => line.trim());
    const objects = lines.map((line, at) => {
      try {
        return JSON.parse(line);
      } catch (error) {
        throw new Error(`line ${at + 1} is no JSON: ${error.message}`);
      }
    });
    const header = objects[0];
    if (!header || header.format !== "shipyard-history") throw new Error("line 1 is no header of a history");
    if (header.version !== 1) throw new Error(`version ${header.version} of the format is unknown to this page`);
    const entries = objects.slice(1);
    entries.forEach((entry, at) => {
      if (typeof entry.time !== "number" || !entry.operation) throw new Error(`line ${at + 2} is no entry of a history`);
      entry.value = entry.value || {};
      entry.nodes = entry.nodes || [];
    });
    return { header, entries };
  }

  function begin(history) {
    const state = {
      groups: [], nodes: new Map(), action: null, intents: new Map(), holds: new Map(), row: 0, epoch: null,
      worker: "", stopped: false, paused: false, window: null, waits: "", fault: null, restored: false,
    };
    regroup(state, history.header.design.groups || [], history.header.design.nodes || []);
    return state;
  }

  function regroup(state, groups, names) {
    state.groups = groups.map((group) => ({ ...group, status: "not_started", reason: "" }));
    for (const name of [...names, ...groups.flatMap((group) => group.nodes)]) node(state, name);
  }

  function node(state, name) {
    if (!state.nodes.has(name)) {
      state.nodes.set(name, { machine: "idle", known: "idle", intent: false, since: 0, working: false });
    }
    return state.nodes.get(name);
  }

  function isPeer(entry) {
    return entry.entry !== undefined || entry.effect || PEERS.has(entry.process);
  }

  function apply(state, entry) {
    const { operation, type, value } = entry;
    if (entry.journal !== undefined) state.row = Math.max(state.row, entry.journal);
    if (entry.epoch !== undefined && entry.process !== "api") {
      state.epoch = entry.epoch;
      state.worker = entry.process;
    }
    state.fault = entry.process === "fault" || operation === "restore" ? entry : null;
    if (entry.process === "fault") return;
    if (isPeer(entry)) machine(state, entry);
    else if (entry.marker !== undefined && type === "invoke") intend(state, entry);
    else if (DOING[operation] && type !== "invoke") outcome(state, entry);
    else if (operation === "node") entry.nodes.forEach((name) => known(state, name, KNOWN[value.status || "success"] || "idle", entry.time));
    else if (operation === "group") Object.assign(state.groups.find((group) => group.name === value.group) || {}, { status: value.status, reason: value.reason });
    else if (operation === "action") action(state, entry);
    else if (operation === "hold") state.holds.set(value.id, { nodes: entry.nodes, ...value });
    else if (operation === "release") state.holds.delete(value.id);
    else if (operation === "window") state.window = Boolean(value.open);
    else if (operation === "stop") state.stopped = true;
    else if (operation === "pause") state.paused = true;
    else if (operation === "unpause") state.paused = false;
    if (value.kind === "waiting") state.waits = value.who ? `${value.who}: ${value.what}` : "";
  }

  function machine(state, entry) {
    for (const name of entry.nodes) {
      const it = node(state, name);
      if (entry.type === "invoke" && DOING[entry.operation]) Object.assign(it, { machine: DOING[entry.operation], working: true, since: entry.time });
      else if (entry.type === "ok" && DONE[entry.operation]) Object.assign(it, { machine: DONE[entry.operation], working: false, since: entry.time });
      else if (entry.type === "fail" && DOING[entry.operation]) Object.assign(it, { machine: "failed", working: false, since: entry.time });
    }
  }

  function intend(state, entry) {
    if (!DOING[entry.operation]) return;
    state.intents.set(entry.marker, { ...entry, accepted: false });
    for (const name of entry.nodes) Object.assign(node(state, name), { intent: true, known: DOING[entry.operation] });
  }

  function outcome(state, entry) {
    for (const [marker, intent] of state.intents) {
      const same = intent.action === entry.action && intent.operation === entry.operation;
      if (!same || (entry.nodes.length && !intent.nodes.some((name) => entry.nodes.includes(name)))) continue;
      if (entry.value.group && intent.value.group && entry.value.group !== intent.value.group) continue;
      if ((entry.value.batch || 1) !== (intent.value.batch || entry.value.batch || 1)) continue;
      state.intents.delete(marker);
      for (const name of intent.nodes) node(state, name).intent = false;
    }
  }

  function known(state, name, what) {
    Object.assign(node(state, name), { known: what, intent: false });
  }

  function action(state, entry) {
    if (entry.type === "invoke") {
      state.action = { id: entry.action, name: entry.value.name, state: "running" };
      Object.assign(state, { stopped: false, paused: false, window: null, waits: "" });
      state.intents.clear();
      if ((entry.value.groups || []).length) regroup(state, entry.value.groups, []);
    } else if (state.action && state.action.id === entry.action) {
      state.action = { ...state.action, state: entry.type === "ok" ? "success" : "failed" };
      state.waits = "";
      state.intents.clear();
    }
  }

  function some(names) {
    return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
  }

  function short(path) {
    return String(path).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "…");
  }

  // One sentence on an entry, in plain words.
  function sentence(entry) {
    const { process, operation, type, value } = entry;
    const nodes = some(entry.nodes);
    if (process === "fault") return `Fault: ${operation.replaceAll("_", " ")}${value.peer ? ` at ${value.peer}, ${value.method} ${short(value.path)}` : value.what ? `: ${value.what}` : ""}`;
    if (operation === "restore") return `The database lost the end of its history. ${value.text || ""}`;
    if (isPeer(entry)) {
      if (type === "invoke") return `${process} begins: ${operation} of ${nodes}`;
      const outcome = { ok: "succeeds", fail: "fails", info: "" }[type];
      return `${process}: ${operation} of ${nodes} ${outcome}${type === "fail" && value.reason ? `: ${value.reason}` : ""}`;
    }
    if (entry.marker !== undefined) {
      const again = (value.attempt || 1) > 1 ? `, attempt ${value.attempt} under the same marker` : "";
      return nodes ? `${process} writes its intent: ${operation} of ${nodes}${again}` : `${process} writes its intent: ${operation}${again}`;
    }
    switch (operation) {
      case "action": return type === "invoke" ? `${value.user || "somebody"} creates ${value.name}` : `The action ends: ${type === "ok" ? "success" : "failed"}`;
      case "step": return `Step ${value.step} ${type === "invoke" ? "begins" : type === "ok" ? "succeeds" : `ends: ${value.state}`}`;
      case "node": return `Recorded: ${nodes} ${nodes && entry.nodes.length > 1 ? "are" : "is"} ${value.status || "kept"}`;
      case "group": return `Group ${value.group}: ${String(value.status).replaceAll("_", " ")}${value.reason ? ` (${value.reason})` : ""}`;
      case "hold": return `${value.user || "an operator"} holds ${nodes}: ${value.reason || value.class}`;
      case "release": return `The hold on ${nodes} ends`;
      case "window": return value.open ? "The maintenance window opens" : "The maintenance window is closed";
      case "reading": return type === "ok" ? `An observer reads all of ${value.source}` : "An observer cannot read the journal";
      case "end": return "The history ends here";
      default:
    }
    if (process === "operator") return `${value.user || "An operator"}: ${operation}`;
    if (DOING[operation]) {
      if (value.job && type === "info") return `${process} records that ${operation} of ${nodes} was accepted`;
      return `${process} records: ${operation}${value.group ? ` of ${value.group}` : ""} ${type === "ok" ? "has succeeded" : type === "fail" ? "has failed" : "goes on"}`;
    }
    if (value.kind === "waiting") return value.who ? `Waits for ${value.who}: ${value.what}` : "Waits for nothing";
    if (value.kind === "attempt_failed") return `No answer, ${value.attempt} times: ${value.why}`;
    return `${process} records ${String(value.kind || operation).replaceAll("_", " ")}${nodes ? `: ${nodes}` : ""}`;
  }

  // Steps of a person: everything but what repeats without news.
  function isStep(entry) {
    if (QUIET.has(entry.operation)) return ["broke", "attempt_failed"].includes(entry.value.kind) || entry.type === "fail";
    return entry.value.kind !== "waiting";
  }

  function isFault(entry) {
    return entry.process === "fault" || entry.operation === "restore" || (entry.operation === "reading" && entry.type === "fail");
  }

  return { parse, begin, apply, sentence, isStep, isFault, isPeer, WORDS, DOING };
})();
