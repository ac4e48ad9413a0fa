import type { BinaryParameter } from "./binaryArray.ts";

/** A call of a SQL function as a named prepared statement. */
export interface FunctionCall {
  /** The statement's name, one for each text. */
  name: string;
  text: string;
  values: readonly (BinaryParameter | string | number | boolean | null)[];
  /** The rows' composite columns, and the types of their fields: text form does not say them. */
  composites?: Readonly<Record<string, readonly CompositeField[]>>;
}

/** A composite's field, which is read into an array with the others, in their order. `word`: text without spaces. */
export type CompositeField = "int4" | "int8" | "uuid" | "word";
