// The playground in the output of a notebook: the same page in a frame of its own, without a server.
// Its modules come with the widget's data and are loaded from memory.

const BASE = "https://pellucid.invalid/";
const TYPES = { js: "text/javascript", json: "application/json", wasm: "application/wasm", svg: "image/svg+xml" };
const EVERY = 500; // milliseconds between two reports of trained weights

export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.title = "Pellucid playground";
    Object.assign(frame.style, { width: "100%", height: `${model.get("height")}px`, border: "0" });
    const urls = [];
    const make = (content, type) => {
      const url = URL.createObjectURL(new Blob([content], { type }));
      urls.push(url);
      return url;
    };
    const blobs = placed(model.get("modules"), make);
    const told = { last: null };
    let ready = new Promise(() => {});
    const follow = () => ready.then((app) => show(app, model.get("shown")));
    // A notebook may put the cell into its page later, or take it out and in again: each time anew.
    frame.addEventListener("load", () => {
      ready = opened(frame, model.get("files"), startAfter(model.get("start"), told.last), blobs);
      ready.then((app) => report(app, model, frame, told), (error) => { el.textContent = `The playground could not start: ${error.message}`; });
    });
    model.on("change:shown", follow);
    el.append(frame);
    return () => {
      model.off("change:shown", follow);
      ready.then((app) => app.engine.close(), () => {});
      frame.remove();
      urls.forEach((url) => URL.revokeObjectURL(url));
    };
  },
};

/** Addresses of the modules: each is placed after those that it imports. */
function placed(modules, make) {
  const blobs = {};
  for (const [path, text] of modules) {
    blobs[path] = make(text.replaceAll(/"pellucid:([^"]+)"/g, (_, needed) => JSON.stringify(blobs[needed])), TYPES.js);
  }
  return blobs;
}

/** Fills the frame with the page and starts it; resolves to its controller. */
async function opened(frame, files, start, blobs) {
  const page = new DOMParser().parseFromString(text(files["index.html"]), "text/html");
  const win = frame.contentWindow;
  const doc = frame.contentDocument;
  handOut(win, { ...files, "start.json": new TextEncoder().encode(JSON.stringify(start)) }, blobs);
  doc.documentElement.lang = "en";
  doc.title = page.title;
  for (const link of page.querySelectorAll('link[rel="stylesheet"]')) {
    const style = doc.createElement("style");
    style.textContent = text(files[link.getAttribute("href")]);
    doc.head.append(style);
  }
  const place = doc.createElement("meta");
  Object.assign(place, { name: "pellucid-start", content: `${BASE}start.json` });
  doc.head.append(place);
  doc.body.replaceChildren(...page.body.children);
  for (const script of page.querySelectorAll("script[src]")) {
    const module = doc.createElement("script");
    module.type = "module";
    module.src = blobs[script.getAttribute("src")];
    doc.body.append(module);
  }
  return started(win, doc);
}

/** The page asks for its files below BASE; they are here. */
function handOut(win, files, blobs) {
  const fetched = win.fetch.bind(win);
  const path = (url) => (String(url).startsWith(BASE) ? decodeURIComponent(new URL(url).pathname.slice(1)) : null);
  win.fetch = async (what, options) => {
    const name = path(what.url ?? what);
    if (name === null) return fetched(what, options);
    if (!(name in files)) return new win.Response(null, { status: 404 });
    return new win.Response(files[name], { headers: { "content-type": TYPES[name.split(".").pop()] ?? "text/plain" } });
  };
  const Plain = win.Worker;
  win.Worker = function (url, options) {
    const name = path(url);
    return new Plain(name === null ? url : blobs[name], options);
  };
  win.history.replaceState = () => {}; // the address is the notebook's
}

/** Waits until the page is at work. */
async function started(win, doc) {
  for (let i = 0; i < 600; i++) {
    if (doc.documentElement.dataset.ready && win.pellucid) return win.pellucid;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error("it did not answer");
}

/** Puts a network of Python in place: other weights of the same network, or another network. */
function show(app, { widths, hidden, parameters }) {
  const layers = widths.slice(1, -1).map((units, i) => ({ units, activation: hidden[i] }));
  const values = new Float32Array(parameters.buffer.slice(parameters.byteOffset, parameters.byteOffset + parameters.byteLength));
  const isSame = String(widths) === String(app.widths()) && JSON.stringify(layers) === JSON.stringify(app.state().hidden);
  if (isSame) return app.edit(values, "from Python");
  return app.apply({ hidden: layers, start: base64(values.buffer) });
}

/** Where a page begins: as Python says, or where the last page was. */
function startAfter(start, last) {
  if (last === null) return start;
  const run = { parameters: base64(last.parameters), state: base64(last.optimizer), offset: last.offset };
  return { ...start, link: null, network: null, table: null, state: { ...last.state, run } };
}

/** Tells Python the weights, now and then, and remembers in `told` where the page is. */
function report(app, model, frame, told) {
  const own = frame.contentWindow;
  let last = 0;
  let timer = null;
  const tell = async () => {
    timer = null;
    last = performance.now();
    if (frame.contentWindow !== own) return; // the cell was taken out, and another page is in its place
    const s = app.snapshot();
    const state = structuredClone(app.state());
    const hidden = state.hidden.map((layer) => layer.activation);
    const trained = { widths: app.widths(), hidden, step: s.step, loss: s.training_loss };
    const parameters = s.parameters.slice().buffer;
    model.set("trained", { ...trained, parameters: new DataView(parameters) });
    model.save_changes();
    told.last = { state, parameters, optimizer: await app.engine.state(), offset: app.run.offset };
  };
  app.onsnapshot(() => {
    timer ??= setTimeout(tell, Math.max(0, EVERY - (performance.now() - last)));
  });
  tell();
}

/** @param {ArrayBuffer} buffer */
const base64 = (buffer) => btoa(Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join(""));
const text = (content) => (typeof content === "string" ? content : new TextDecoder().decode(content));
