import type { composites, functions } from "../sql/functions.generated.ts";
import type { BinaryParameter } from "./binaryArray.ts";

/** A call of a SQL function as a named prepared statement. */
export interface FunctionCall {
  /** The statement's name, unique for each text. */
  name: string;
  text: string;
  values: readonly ParameterValue[];
  /** The fields of the composite columns, in their order, with their types. */
  composites?: Composites | undefined;
}

export type ParameterValue = BinaryParameter<string> | Buffer | string | number | boolean | null;

/** By the column's name. */
export type Composites = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The SQL functions of this version. */
export type FunctionName = keyof typeof functions;

/** The TypeScript type of each PostgreSQL type; ids are 32 hex characters. */
interface Scalars {
  bool: boolean;
  bytea: Buffer;
  float8: number;
  int2: number;
  int4: number;
  /** Below 2^53: all values are times, counts and tokens. */
  int8: number;
  text: string;
  uuid: string;
  void: null;
}

/** The type of a parameter. An array without elements is given as text, because it cannot be written in binary form. */
type Given<T extends string> = T extends `${string}[]`
  ? BinaryParameter<T> | "{}" | null
  : T extends keyof Scalars
    ? Scalars[T] | null
    : never;

type Read<T extends string> = T extends `${infer E extends keyof Scalars}[]`
  ? (Scalars[E] | null)[]
  : T extends keyof Scalars
    ? Scalars[T]
    : T extends keyof typeof composites
      ? Fields<(typeof composites)[T]>
      : never;

type Fields<C> = { readonly [F in keyof C]: C[F] extends string ? Read<C[F]> | null : never };

/** The parameters of a function by their names in SQL. */
export type ParametersOf<N extends FunctionName> = {
  readonly [P in keyof (typeof functions)[N]["parameters"]]: Given<
    (typeof functions)[N]["parameters"][P] & string
  >;
};

/** A row of a function. The catalogue does not know which columns are never null. */
export type RowOf<N extends FunctionName> = {
  [C in keyof (typeof functions)[N]["columns"]]: Read<(typeof functions)[N]["columns"][C] & string> | null;
};
