// What goes into the engine and comes out of it, as JSDoc types; no code.

/**
 * @typedef {Object} Named
 * A member of one of Pellucid's tables, with its parameters; those left out take the defaults.
 * @property {string} name
 * @property {number[]} [parameters]
 */

/**
 * @typedef {Object} Rows
 * n rows: X row by row (n x d_in). Labels (categorical, ordinal) or targets (n x columns).
 * @property {Float32Array} X
 * @property {Int32Array|null} [labels]
 * @property {Float32Array|null} [targets]
 * @property {number} n
 */

/**
 * @typedef {Object} OptimizerChoice
 * As `pellucid.train` takes them, with its defaults.
 * @property {string} name  sgd, rmsprop, adam, adamw, lbfgs
 * @property {number} [learning_rate]
 * @property {number} [momentum]
 * @property {boolean} [nesterov]
 * @property {number} [alpha]
 * @property {number} [beta1]
 * @property {number} [beta2]
 * @property {number} [epsilon]
 * @property {number} [history_size]
 */

/**
 * @typedef {Object} ScheduleChoice
 * @property {string} name  constant, step, cosine, one_cycle, plateau
 * @property {number} [warmup]
 * @property {number} [step_size]
 * @property {number} [plateau_patience]
 * @property {number} [gamma]
 * @property {number} [eta_min]
 * @property {number} [pct_start]
 * @property {number} [div_factor]
 * @property {number} [final_div_factor]
 */

/**
 * @typedef {Object} Net
 * A network without its numbers.
 * @property {number[]} widths  d_0 ... d_L, inputs first, outputs last
 * @property {Named[]} hidden  one activation for each hidden layer
 * @property {Named} [likelihood]  needed where a mean, a loss or a target is asked for
 */

/**
 * @typedef {Object} Training
 * @property {Named} likelihood
 * @property {OptimizerChoice} optimizer
 * @property {ScheduleChoice} [schedule]
 * @property {number} [steps]  where the run ends, which also stretches the schedule; without, never
 * @property {number} [weight_decay]
 * @property {number} [l1]
 * @property {number} [dropout]
 * @property {number} [clip_norm]
 * @property {number} [label_smoothing]
 * @property {number} [batch_size]  0: all rows at every step
 * @property {number|bigint} [seed]  of the order of the rows and of dropout
 * @property {number} [record_every]  steps between two records (default 1)
 * @property {Rows} rows
 * @property {Rows|null} [validation]
 * @property {Float32Array} parameters  W1 row by row, b1, W2, ...: where the run starts
 */

/** @typedef {Net & Training} Job */

/**
 * @typedef {Object} Records
 * Recorded losses in nats; a training loss is that of the step's own batch.
 * @property {Float64Array} steps
 * @property {Float64Array} losses
 * @property {Float64Array} validation_losses  empty without validation rows
 */

/**
 * @typedef {"paused"|"running"|"finished"|"diverged"|"converged"} Status
 */

/**
 * @typedef {Object} Snapshot
 * @property {number} step  steps done
 * @property {number} training_loss  mean over all training rows, in nats, without dropout
 * @property {number} validation_loss  NaN without validation rows
 * @property {Float32Array} parameters  after divergence: the last finite ones, those of `step`
 * @property {number[]} gradient_norm  by layer, at the last step made
 * @property {number[]} update_ratio  |update| / |parameters| by layer, at the last step made
 * @property {number[]} dead  share of dead units, by hidden layer, on the rows of the last step
 * @property {number[]} saturated  share of saturated units
 * @property {Status} status
 * @property {number|null} diverged_at  the step whose loss or gradient was not finite
 * @property {number} updates_per_second  of the last half second of training; 0 before
 * @property {Records} records  since the snapshot before
 */

/**
 * @typedef {Object} ForwardResult
 * Everything row by row, n rows each.
 * @property {Float32Array} logits  (n x d_out)
 * @property {Float32Array} mean  what the likelihood predicts: probabilities, means, quantiles
 * @property {number} mean_columns
 * @property {Float32Array[]} layers  hidden representations, one array (n x width) a layer
 * @property {Float32Array[]} z  pre-activations, the logits last
 */

/**
 * @typedef {Object} Worked
 * Forward and backward of n rows (one, usually), in float64; the loss is their mean, in nats.
 * Arrays have one entry a layer, the output layer last; `h`, `slopes` and `dh` one a hidden layer.
 * @property {Float64Array} a0  the inputs (n x d_in)
 * @property {Float64Array[]} z
 * @property {Float64Array[]} h
 * @property {Float64Array[]} slopes  sigma'(z)
 * @property {Float64Array} logits
 * @property {Float64Array} mean
 * @property {number} loss
 * @property {Float64Array[]} delta  by z, the factor 1/n included
 * @property {Float64Array[]} dh  by h
 * @property {Float64Array[]} dW  (d_out x d_in of the layer)
 * @property {Float64Array[]} db
 * @property {Float64Array} input_gradient
 */

/**
 * @typedef {Object} Batch
 * The step that comes next, looked at without being taken.
 * @property {Int32Array} rows  which training rows
 * @property {number} loss  their mean loss
 * @property {Float64Array} gradient  of that loss by the flat parameters, without dropout or penalties
 * @property {Float32Array} update  what the step would add to the parameters
 */

/**
 * @typedef {Object} Plane
 * x = origin + s axes[0] + t axes[1]
 * @property {number[]} origin
 * @property {number[][]} axes
 */

/**
 * @typedef {Object} Domain
 * @property {number[]} low  [s, t], or [x, y] of a network with two inputs
 * @property {number[]} high
 * @property {Plane} [plane]  needed for a network with more inputs
 */

/**
 * @typedef {Object} Switch
 * One (unit, kink) pair; layer 0 is the first hidden layer.
 * @property {number} layer
 * @property {number} unit
 * @property {number} kink
 */

/**
 * @typedef {Object} RegionsResult
 * @property {number} n  activation regions found
 * @property {boolean} complete  false where `limit` ended the search
 * @property {boolean} certified  every sign was proved
 * @property {number} d_out
 * @property {number} stride  bytes of a pattern
 * @property {Uint8Array} patterns  (n x stride): switch i is bit i % 8, from the lowest, of byte i >> 3
 * @property {Switch[]} switches
 * @property {Float64Array} vertices  (corners x 2), counterclockwise, region after region
 * @property {Int32Array} offsets  (n + 1): region i has the vertices offsets[i] to offsets[i + 1] - 1
 * @property {Int32Array} edges  (corners): the switch that the edge from this vertex to the next lies
 *   on, or -1 - side; sides: s = low, s = high, t = low, t = high
 * @property {number} vertex_error  no coordinate is further off
 * @property {Float64Array} slopes  (n x d_out x 2)
 * @property {Float64Array} intercepts  (n x d_out)
 * @property {Counts} counts
 * @property {Int32Array} linear_region  (n): equal numbers, one linear region
 * @property {Int32Array} affine_map  (n): equal numbers, one affine map
 * @property {Float64Array} boundary  (segments x 4): s, t, s, t; where the class, or the sign of one
 *   output, changes; the lower class on the left
 * @property {Int32Array} boundary_pair  (segments x 2): the two classes, the lower first
 */

/**
 * @typedef {Object} Counts
 * @property {number} n_activation_regions
 * @property {number} n_linear_regions
 * @property {number} n_affine_maps
 */

/**
 * @typedef {Object} SegmentResult
 * The pieces of x = a + t (b - a), 0 <= t <= 1, in order.
 * @property {number} n
 * @property {boolean} complete
 * @property {boolean} certified
 * @property {number} d_out
 * @property {number} stride
 * @property {Uint8Array} patterns
 * @property {Switch[]} switches
 * @property {Float64Array} t  (n + 1) breakpoints
 * @property {Int32Array} at  (n - 1): the switch of each inner breakpoint
 * @property {Float64Array} slopes  (n x d_out): by t
 * @property {Float64Array} intercepts  (n x d_out)
 */

/**
 * @typedef {Object} Finished
 * One run of `many`.
 * @property {number} loss  mean over all training rows
 * @property {number} validation_loss
 * @property {Float32Array} parameters
 * @property {Records} records
 * @property {Status} status
 * @property {number} steps  done
 */

/**
 * @typedef {Object} Bounds
 * Exact whole numbers; null where a bound's conditions are not met.
 * @property {bigint} arrangement  regions of as many lines as the first layer has units, in d_in dimensions
 * @property {bigint} upper  the least of the upper bounds
 * @property {bigint|null} lower  the largest of the lower bounds on the most that such a network can have
 * @property {Record<string, bigint|null>} bounds  by the names of pellucid.regions.BOUNDS
 */

export {};
