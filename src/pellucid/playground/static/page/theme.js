// @ts-check
// Light or dark: as the system says, until the visitor chooses. Remembered on this machine only.

import { Palette } from "./palette.js";

const KEY = "pellucid-theme";

export class Theme {
  /** @param {() => void} onchange */
  constructor(onchange) {
    this.query = matchMedia("(prefers-color-scheme: dark)");
    this.onchange = onchange;
    this.chosen = remembered();
    this.current = new Palette(this.dark);
    this.#apply();
    this.query.addEventListener("change", () => this.#apply());
  }

  get dark() {
    return this.chosen ? this.chosen === "dark" : this.query.matches;
  }

  toggle() {
    this.chosen = this.dark ? "light" : "dark";
    try {
      localStorage.setItem(KEY, this.chosen);
    } catch {
      // a page without storage forgets the choice
    }
    this.#apply();
  }

  #apply() {
    if (this.chosen) document.documentElement.dataset.theme = this.chosen;
    this.current = new Palette(this.dark);
    this.onchange();
  }
}

function remembered() {
  try {
    const value = localStorage.getItem(KEY);
    return value === "dark" || value === "light" ? value : "";
  } catch {
    return "";
  }
}
