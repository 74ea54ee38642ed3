// Keeps the files of an exported page, so that it opens without a network after the first visit.
// With a network the server is asked first: a new export is seen at once.

const KEPT = "pellucid-playground VERSION";
const FILES = ["FILES"];

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(["./", ...FILES])));
});

self.addEventListener("activate", (event) => {
  const clean = async () => {
    for (const name of await caches.keys()) {
      if (name.startsWith("pellucid-playground ") && name !== KEPT) await caches.delete(name);
    }
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const kept = async () => (await caches.open(KEPT)).match(event.request, { ignoreSearch: true });
  const answer = async () => {
    try {
      return await fetch(event.request);
    } catch (error) {
      const found = await kept();
      if (found) return found;
      throw error;
    }
  };
  event.respondWith(answer());
});
