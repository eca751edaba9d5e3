// Draws the diagrams of the page, on paper-white in both themes.
mermaid.initialize({ startOnLoad: true, theme: "neutral", securityLevel: "strict" });
