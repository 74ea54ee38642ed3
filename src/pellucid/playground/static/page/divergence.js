// @ts-check
// What a visitor is told when training diverges, and the way on.

/** @typedef {import("./types.js").Notice} Notice */

/**
 * @param {import("./app.js").App} app @param {import("./types.js").Snapshot} last the last finite one
 * @returns {Notice}
 */
export function divergence(app, last) {
  const rate = app.state().training.learning_rate;
  const smaller = Number((rate / 3).toPrecision(1));
  const again = async () => {
    await app.change("learning rate", (state) => {
      state.training.learning_rate = smaller;
    });
    await app.reset();
    await app.play();
  };
  return {
    kind: "warning",
    text:
      `Training diverged after step ${last.step}: with learning rate ${rate} the numbers grew past what a float holds. ` +
      "The last finite weights are kept and shown.",
    actions: [{ label: `Start again with learning rate ${smaller}`, act: again }],
  };
}
