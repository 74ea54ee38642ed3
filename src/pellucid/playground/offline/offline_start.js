// Only where a browser offers it: over https, or on the machine itself. The page comes first.
const root = document.documentElement;
const start = () => navigator.serviceWorker?.register(new URL("offline.js", import.meta.url)).catch(() => {});
const watch = new MutationObserver(() => {
  if (!root.dataset.ready) return;
  watch.disconnect();
  start();
});
if (root.dataset.ready) start();
else watch.observe(root, { attributes: true });
