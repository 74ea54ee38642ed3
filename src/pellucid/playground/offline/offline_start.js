// Only where a browser offers it: over https, or on the machine itself. The page comes first.
const start = () => navigator.serviceWorker?.register(new URL("offline.js", import.meta.url)).catch(() => {});
const whenIdle = globalThis.requestIdleCallback ?? ((act) => setTimeout(act, 1000));
if (document.readyState === "complete") whenIdle(start);
else addEventListener("load", () => whenIdle(start));
