import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { parseStorable } from "./json.ts";

/**
 * Parses a body that is as `schema` says; undefined for any other, which is for the framework to refuse by name.
 * The value stands in an object of its own, because null is a value too.
 */
export function parseIf<S extends TSchema>(schema: S, body: Buffer): { value: Static<S> } | undefined {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    validators.set(schema, validator);
  }
  try {
    const value = parseStorable(body);
    return validator.Check(value) ? { value: value as Static<S> } : undefined;
  } catch {
    return undefined;
  }
}

const validators = new Map<TSchema, Validator>();
