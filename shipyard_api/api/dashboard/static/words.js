// Statuses, durations and reasons in the words that the command line uses, too.

/** What a node does: a letter of the API, its word, the letter in its cell, its colour (a variable of base.css). */
export const NODE = {
  n: { word: "not started", letter: "", colour: "--idle" },
  x: { word: "not started, and will not be", letter: "", colour: "--idle" },
  q: { word: "queued", letter: "q", colour: "--queued" },
  i: { word: "preparing", letter: "p", colour: "--preparing" },
  p: { word: "prepared", letter: "P", colour: "--preparing" },
  d: { word: "deploying", letter: "d", colour: "--working" },
  s: { word: "deployed", letter: "D", colour: "--good" },
  f: { word: "failed", letter: "F", colour: "--bad" },
};
export const LEGEND = ["n", "q", "i", "p", "d", "s", "f", "x"];

export const GROUP = {
  not_started: { word: "not started", glyph: "○", tone: "idle" },
  preparing: { word: "preparing", glyph: "◐", tone: "working" },
  deploying: { word: "deploying", glyph: "◕", tone: "working" },
  success: { word: "success", glyph: "✓", tone: "good" },
  failed: { word: "failed", glyph: "✕", tone: "bad" },
};

export const ACTION = {
  queued: { word: "Pending", glyph: "○", tone: "idle" },
  running: { word: "Processing", glyph: "◕", tone: "working" },
  paused: { word: "Paused", glyph: "‖", tone: "queued" },
  success: { word: "Complete", glyph: "✓", tone: "good" },
  failed: { word: "Failed", glyph: "✕", tone: "bad" },
};

/** The status of a node over all actions: its word and tone. */
export const STATUS = {
  success: { word: "deployed", tone: "good" },
  failure: { word: "failed", tone: "bad" },
  prepared: { word: "prepared", tone: "working" },
  not_started: { word: "not started", tone: "idle" },
};

/** The word and the tone of a node; a removed one, whose row says that nothing stands, is taken down. */
export const statusOf = ({ status, reason }) =>
  (status === "not_started" && reason === "teardown" ? { word: "taken down", tone: "idle" } : STATUS[status] || { word: plain(status), tone: "idle" });

export const STEP = {
  success: { glyph: "✓", tone: "good" },
  failed: { glyph: "✕", tone: "bad" },
  running: { glyph: "◕", tone: "working" },
  skipped: { glyph: "–", tone: "idle" },
};

export const REASONS = {
  prepare: "too few nodes were prepared",
  deploy: "too few nodes were deployed",
  dependency: "a group it depends on failed",
  timeout: "ran out of time",
  queue_timeout: "the provisioner never began it",
  refused: "the provisioner refused it",
  stopped: "the action was stopped",
  held: "held",
  hardware: "other hardware than expected",
  policy: "stopped by the rollout policy",
};

export const plain = (word) => String(word ?? "").replaceAll("_", " ");
/** A note with its stages as words: `Stage.NOT_STARTED` becomes `not started`. */
export const noteText = (text) => text.replace(/\bStage\.([A-Z_]+)/g, (_, stage) => plain(stage.toLowerCase()));
export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** A mean: with a digit behind the point only where that says something. */
export const few = (number) => (number < 10 ? number.toFixed(1) : Math.round(number).toLocaleString("en"));

/** 0:42, 12:34, 1:02:03, and from a day on 2 d 6:22. */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number) => String(number).padStart(2, "0");
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24}:${two(minutes)}`;
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** About 5 s, 12 min, 3 h, 2 d. */
export function rough(seconds) {
  const size = Math.abs(seconds);
  if (size < 90) return `${Math.round(size)} s`;
  if (size < 90 * 60) return `${Math.round(size / 60)} min`;
  if (size < 36 * 3600) return `${Math.round(size / 360) / 10} h`;
  return `${Math.round(size / 86400)} d`;
}

export const at = (text) => (text ? Date.parse(String(text).replace(" ", "T")) : NaN);
export const percent = (share) => {
  const value = 100 * share;
  if (value > 0 && value < 1) return "< 1 %";
  if (value > 99 && value < 100) return "> 99 %";
  return `${Math.round(value)} %`;
};

export function localTime(text, withDate = false) {
  const moment = new Date(at(text));
  if (Number.isNaN(moment.getTime())) return "";
  const time = moment.toLocaleTimeString("en-GB");
  return withDate ? `${moment.toLocaleDateString("en-CA")} ${time}` : time;
}

/** The groups in run order: those without dependencies, those that only need these, and so on. */
export function inRunOrder(groups) {
  const left = new Map(groups.map((group) => [group.name, group]));
  const ordered = [];
  while (left.size) {
    const ready = [...left.values()].filter((group) => !group.depends_on.some((name) => left.has(name)));
    for (const group of ready.length ? ready : [...left.values()]) {
      ordered.push(group);
      left.delete(group.name);
    }
  }
  return ordered;
}
