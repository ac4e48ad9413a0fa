import type pg from "pg";
import { composites, functions } from "../sql/functions.generated.ts";
import type { FunctionCall, FunctionName, ParametersOf, ParameterValue, RowOf } from "./functionCall.ts";
import { callHot } from "./hotCall.ts";

/**
 * Calls a SQL function of this version with named parameters and returns its rows: ids as 32 hex characters, bigint as
 * numbers, bytea as buffers, composites as objects.
 * @throws the driver's errors, as `pool.query` does.
 */
export function callFunction<N extends FunctionName>(
  pool: pg.Pool,
  name: N,
  parameters: ParametersOf<N>,
): Promise<RowOf<N>[]> {
  const { parameterNames, ...statement } = statementOf(name);
  const given = parameters as Readonly<Record<string, ParameterValue>>;
  return callHot<RowOf<N>>(pool, {
    ...statement,
    values: parameterNames.map((parameter) => given[parameter]!),
  });
}

/** The part of a call that is the same for all calls of one function. */
interface Statement extends Omit<FunctionCall, "values"> {
  parameterNames: readonly string[];
}

const statements = new Map<FunctionName, Statement>();

function statementOf(name: FunctionName): Statement {
  const known = statements.get(name);
  if (known !== undefined) return known;
  const parameters = Object.entries(functions[name].parameters);
  // The parameters have explicit types: versions from before functions had schemas left their functions in `public`, and
  // without types both functions would match.
  const named = parameters.map(([parameter, type], index) => `${parameter} => $${index + 1}::${type}`);
  const statement = {
    name,
    text: `select ${columnsOf(name)} from ${name}(${named.join(", ")})`,
    composites: compositeColumns(functions[name].columns),
    parameterNames: parameters.map(([parameter]) => parameter),
  };
  statements.set(name, statement);
  return statement;
}

/** The columns of a function's rows, for a select list. */
export function columnsOf(name: FunctionName): string {
  return Object.keys(functions[name].columns).join(", ");
}

function compositeColumns(columns: Readonly<Record<string, string>>): Statement["composites"] {
  return Object.fromEntries(
    Object.entries(columns).flatMap(([column, type]) =>
      type in composites ? [[column, composites[type as keyof typeof composites]]] : [],
    ),
  );
}
