// Places groups left to right in run order, beside the page's own thread: large graphs take a second.
import { layout } from "./layout.js";

onmessage = (event) => postMessage({ id: event.data.id, ...layout(event.data.groups, event.data.size) });
