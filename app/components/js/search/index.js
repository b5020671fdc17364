// Nearest sentences by cosine, among vectors of int8: the length of a vector does not matter, so it has no step.

export class Index {
  // `vectors`: Int8Array (n x dim), a sentence each. `axes`: Float32Array (d x dim), where queries are of d dimensions
  // and the vectors of fewer.
  constructor(vectors, dim, axes = null) {
    [this.vectors, this.dim, this.axes] = [vectors, dim, axes];
    this.size = vectors.length / dim;
    this.lengths = new Float64Array(this.size);
    for (let row = 0, at = 0; row < this.size; row += 1) {
      let sum = 0;
      for (const end = at + dim; at < end; at += 1) sum += vectors[at] * vectors[at];
      this.lengths[row] = Math.sqrt(sum);
    }
  }

  // The k nearest, nearest first, ties by position: [{ index, cosine }]. Beside a vector of zeros all cosines are 0.
  search(query, k) {
    const { dim, lengths, vectors } = this;
    const point = this.axes ? this.#onAxes(query) : query;
    const length = Math.hypot(...point) || 1;
    const best = [];
    let least = -Infinity;
    for (let index = 0, at = 0; index < this.size; index += 1) {
      let sum = 0;
      for (let i = 0; i < dim; i += 1, at += 1) sum += point[i] * vectors[at];
      const cosine = lengths[index] ? sum / lengths[index] / length : 0;
      if (best.length === k && cosine <= least) continue;
      let place = best.length;
      while (place && best[place - 1].cosine < cosine) place -= 1;
      best.splice(place, 0, { index, cosine });
      if (best.length > k) best.pop();
      least = best.at(-1).cosine;
    }
    return best;
  }

  #onAxes(query) {
    const point = new Float64Array(this.dim);
    query.forEach((value, from) => point.forEach((_, to) => { point[to] += value * this.axes[from * this.dim + to]; }));
    return point;
  }
}
