// The page's one door to its framework.
export {
  html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useErrorBoundary,
} from "./vendor/htm-preact.js";
