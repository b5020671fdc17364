// Nearest sentences by cosine, among vectors in parts as `rows.js` has them.

export class Index {
  // `parts`: [{ steps, rows }], a sentence a row; `mean`: (dim) what they stand around. `axes`: Float32Array (d x dim),
  // where queries are of d dimensions and the vectors of fewer.
  constructor(parts, mean, axes = null) {
    [this.parts, this.mean, this.dim, this.axes] = [parts, mean, mean.length, axes];
    const common = dot(mean, mean, 0);
    // |mean + step row|, from what is known of both; 0 for a sentence without a known word.
    this.lengths = parts.map(({ steps, rows }) => Float64Array.from(steps, (step, i) => {
      let [across, own] = [0, 0];
      for (let at = i * this.dim, d = 0; d < this.dim; at += 1, d += 1) {
        across += mean[d] * rows[at];
        own += rows[at] * rows[at];
      }
      return Number.isNaN(step) ? 0 : Math.sqrt(Math.max(0, common + 2 * step * across + step * step * own));
    }));
  }

  // The k nearest, nearest first, ties by position: [{ index, cosine }]. Beside a vector of zeros all cosines are 0.
  search(query, k) {
    const point = Float64Array.from(this.axes ? this.#onAxes(query) : query);
    const length = Math.hypot(...point) || 1, common = dot(point, this.mean, 0);
    const best = [];
    let index = 0;
    this.parts.forEach(({ steps, rows }, part) => {
      const lengths = this.lengths[part];
      for (let i = 0; i < steps.length; i += 1, index += 1) {
        const near = lengths[i] ? (common + steps[i] * dot(point, rows, i * this.dim)) / lengths[i] / length : 0;
        if (best.length === k && near <= best[k - 1].cosine) continue;
        let place = best.length;
        while (place && best[place - 1].cosine < near) place -= 1;
        best.splice(place, 0, { index, cosine: near });
        if (best.length > k) best.pop();
      }
    });
    return best;
  }

  #onAxes(query) {
    const point = new Float64Array(this.dim);
    query.forEach((value, from) => point.forEach((_, to) => { point[to] += value * this.axes[from * this.dim + to]; }));
    return point;
  }
}

function dot(vector, rows, start) {
  let sum = 0;
  for (let i = 0, at = start; i < vector.length; i += 1, at += 1) sum += vector[i] * rows[at];
  return sum;
}
