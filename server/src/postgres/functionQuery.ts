import { type RawBuilder, sql } from "kysely";
import { columnsOf } from "./hot/callFunction.ts";
import { functions } from "./sql/functions.generated.ts";
import type { FunctionName, ParametersOf, RowOf } from "./hot/functionCall.ts";

/** A call of a SQL function with its parameters by name, for a transaction of Kysely's. */
export function functionQuery<N extends FunctionName>(
  name: N,
  parameters: ParametersOf<N>,
): RawBuilder<RowOf<N>> {
  const types: Readonly<Record<string, string>> = functions[name].parameters;
  const named = Object.entries(parameters).map(
    ([parameter, value]) => sql`${sql.raw(parameter)} => ${value}::${sql.raw(types[parameter]!)}`,
  );
  return sql<RowOf<N>>`select ${sql.raw(columnsOf(name))} from ${sql.raw(name)}(${sql.join(named)})`;
}
