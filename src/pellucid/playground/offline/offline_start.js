// Only where a browser offers it: over https, or on the machine itself.
navigator.serviceWorker?.register(new URL("offline.js", import.meta.url)).catch(() => {});
