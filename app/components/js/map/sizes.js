// How large points are drawn, by the names that the address knows.
export const SIZES = { small: 0.6, usual: 1, large: 1.8 };
