/** A change at one place of one file. */
export interface Edit {
  /** Path below `server/src`. */
  file: string;
  /** Text that occurs exactly once in the file. */
  find: string;
  replace: string;
}

/** A fault that somebody could bring into the service, and the check that must report it. */
export interface Mutant {
  /** The fault of this build, as a sentence. */
  name: string;
  edits: readonly Edit[];
  /** Number of the broken promise in `docs/guarantees.md`; null for a promise that the reference documents. */
  promise: number | null;
  /** File in `server/test`, without its ending. */
  test: string;
  /** Part of the name of the check in that file; no other check runs. */
  check: string;
  /** Pattern that the check's failure has to match. A crash or a timeout elsewhere does not count. */
  violation: RegExp;
}
