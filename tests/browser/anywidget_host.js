// Plays the host of an anywidget, with nothing of Jupyter's: a model, views of it, and an account of all that a view holds.

/** Parts as base64 -> a model whose kernel answers, a moment later. `later`: names of parts that are made on demand. */
function makeModel(parts, later, state) {
  const bytes = (text) => {
    const found = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const room = new Uint8Array(found.length + 8); // a view into something larger, as Jupyter's messages are
    room.set(found, 8);
    return new DataView(room.buffer, 8, found.length);
  };
  const listeners = new Map(); // event -> Set of callbacks
  const dirty = new Set();
  const model = {
    sent: [],
    saved: [],
    state,
    listeners,
    emit(event, ...given) {
      for (const callback of [...(listeners.get(event) ?? [])]) callback(...given);
    },
    post(message, names = []) {
      model.emit("msg:custom", { ...message, names }, names.map((name) => bytes(parts[name])));
    },
    /** What a view is given: no more than anywidget's documentation names. */
    handle: () => ({
      get: (name) => state[name],
      set(name, value) {
        state[name] = value;
        dirty.add(name);
        model.emit(`change:${name}`);
      },
      save_changes() {
        model.saved.push(Object.fromEntries([...dirty].map((name) => [name, state[name]])));
        dirty.clear();
      },
      on(event, callback) {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event).add(callback);
      },
      off: (event, callback) => listeners.get(event)?.delete(callback),
      send(message) {
        model.sent.push(message);
        const names = message.type === "ready" ? Object.keys(parts).filter((name) => !later.includes(name)) : message.type === "ask" && parts[message.part] ? [message.part] : [];
        if (names.length) setTimeout(() => model.post({ type: "parts" }, names));
      },
    }),
  };
  return model;
}

/** A module's text -> the module, by way of a blob, as anywidget loads it: it can have no file beside it. */
async function load(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Renders a view into an element; returns the way to end it. */
async function view(module, model, el) {
  const controller = new AbortController();
  const given = { model: model.handle(), el, experimental: { invoke: async () => [undefined, []] }, signal: controller.signal };
  const end = await module.default.render(given);
  return async () => {
    controller.abort();
    await end();
  };
}

/** Notes what is held outside of a view's own elements, from now on: listeners, observers, timers, frames. */
function keepAccount() {
  const held = new Map();
  const note = (kind, key) => {
    const one = { kind, key };
    held.set(one, true);
    return one;
  };
  const drop = (test) => {
    for (const one of [...held.keys()]) if (test(one)) held.delete(one);
  };
  const outside = (target) => !(target instanceof Node) || target === document || target === document.body || target === document.documentElement || target === document.head;
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, callback, options) {
    const target = this ?? window;
    if (outside(target) && !(target instanceof AbortSignal)) {
      const one = note(`listener ${target.constructor.name} ${type}`, callback);
      options?.signal && addEventListener.call(options.signal, "abort", () => held.delete(one));
    }
    return addEventListener.call(target, type, callback, options);
  };
  EventTarget.prototype.removeEventListener = function (type, callback, options) {
    drop((one) => one.key === callback && one.kind.endsWith(` ${type}`));
    return removeEventListener.call(this ?? window, type, callback, options);
  };
  for (const name of ["ResizeObserver", "MutationObserver", "IntersectionObserver"]) {
    const { observe, disconnect } = window[name].prototype;
    window[name].prototype.observe = function (...given) {
      note(name, this);
      return observe.apply(this, given);
    };
    window[name].prototype.disconnect = function () {
      drop((one) => one.key === this);
      return disconnect.call(this);
    };
  }
  const timers = [
    ["setTimeout", "clearTimeout", true],
    ["setInterval", "clearInterval", false],
    ["requestAnimationFrame", "cancelAnimationFrame", true],
  ];
  for (const [set, clear, once] of timers) {
    const [setter, clearer] = [window[set], window[clear]];
    window[set] = (callback, ...more) => {
      let one;
      const key = setter.call(window, (...given) => {
        if (once) held.delete(one);
        callback(...given);
      }, ...more);
      one = note(set, key);
      return key;
    };
    window[clear] = (key) => {
      drop((one) => one.kind === set && one.key === key);
      clearer.call(window, key);
    };
  }
  return () => [...held.keys()].map((one) => one.kind).sort();
}

/** All that a module could leave behind by being imported: names on globals and built-in prototypes, and the page itself. */
function fingerprint() {
  const names = {};
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    names[name] = "";
    const found = Object.getOwnPropertyDescriptor(globalThis, name)?.value;
    if (typeof found !== "function" || !found.prototype) continue;
    names[name] = [...Reflect.ownKeys(found), ...Reflect.ownKeys(found.prototype)].map(String).join();
  }
  const attributes = [...document.documentElement.attributes].map((one) => `${one.name}=${one.value}`);
  return JSON.stringify({ names, attributes, head: document.head.innerHTML, body: document.body.outerHTML, sheets: document.adoptedStyleSheets.length, hash: location.href, title: document.title });
}
