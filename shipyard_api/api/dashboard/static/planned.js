// The plan beside reality: when the forecast at the start expected each group, and how far off it was, in words.
import { at, clock } from "./words.js";

const SOURCES = {
  given: "with given probabilities",
  history: "from earlier actions of this site",
  default: "a guess, because no earlier deployment was measured",
};
// Seconds, and a share of the plan, that count as on time.
const ON_TIME = [5, 0.05];

/** The plan of a forecast from the start, with times in seconds after it; an empty one without a forecast. */
export function planned(forecast) {
  const groups = new Map();
  let length = 0;
  for (const one of forecast?.groups || []) {
    if (!one.phases.length) continue;
    const phases = one.phases.map(({ phase, starts, seconds }) => ({ phase, begins: starts.p50, ends: starts.p50 + seconds.p50 }));
    const begins = one.starts?.p50 ?? phases[0].begins;
    const ends = begins + one.seconds.p50;
    groups.set(one.name, { begins, ends, phases, chance: one.success.probability });
    length = Math.max(length, ends, ...phases.map((phase) => phase.ends));
  }
  return { of: (name) => groups.get(name), length, source: groups.size ? SOURCES[forecast.source] : "" };
}

/** How a group keeps to its plan, `[words, tone]`; `began` and `now` in milliseconds. */
export function beside(group, plan, began, now) {
  if (!plan) return ["", "idle"];
  const first = group.phases[0];
  const passed = (now - began) / 1000;
  const slack = Math.max(ON_TIME[0], ON_TIME[1] * plan.ends);
  if (group.status === "failed") return group.phases.length ? [`failed, due at ${clock(plan.ends)}`, "bad"] : ["never began", "idle"];
  if (!first && group.status === "success") return ["nothing to do", "idle"];
  if (!first) return passed > plan.begins + slack ? [`begins ${clock(passed - plan.begins)} late so far`, "queued"] : [`begins at ${clock(plan.begins)}`, "idle"];
  if (group.phases.some((phase) => !phase.ended_at) || group.status !== "success") {
    return passed > plan.ends + slack ? [`${clock(passed - plan.ends)} late so far`, "queued"] : [`due at ${clock(plan.ends)}`, "working"];
  }
  const off = (Math.max(...group.phases.map((phase) => at(phase.ended_at))) - began) / 1000 - plan.ends;
  if (Math.abs(off) <= slack) return ["as planned", "good"];
  return off > 0 ? [`ended ${clock(off)} late`, "queued"] : [`ended ${clock(-off)} early`, "good"];
}
