/** A change at one place of one file. */
export interface Edit {
  /** Path below `server/src`. */
  file: string;
  /** Text that occurs exactly once in the file. */
  find: string;
  replace: string;
}

/** A fault that a change could introduce into the service, and the check that must report it. */
export interface Mutant {
  /** The fault of this build, in words. */
  name: string;
  edits: readonly Edit[];
  /** Number of the broken promise in `docs/guarantees.md`; null for a promise that the reference documents. */
  promise: number | null;
  /** Name of a test file in `server/test`, without `.test.ts`. */
  test: string;
  /** Part of the title of the one check that runs in that file. */
  check: string;
  /** Pattern that the failure message of the check must match; a crash or a timeout elsewhere does not count. */
  violation: RegExp;
}
