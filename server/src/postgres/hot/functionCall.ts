import type { BinaryParameter } from "./binaryArray.ts";

/** A call of a SQL function as a named prepared statement. */
export interface FunctionCall {
  /** The statement's name, one for each text. */
  name: string;
  text: string;
  values: readonly (BinaryParameter | string | number | boolean | null)[];
}
