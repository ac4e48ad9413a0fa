import type { preValidationHookHandler } from "fastify";
import type { TSchema } from "typebox";
import { nearestName } from "../../config/nearestName.ts";
import { ApiError } from "./errors.ts";

/** Refuses query parameters that a route does not know: a misspelt filter would otherwise list everything. */
export function knownQuery(schema: TSchema | undefined): preValidationHookHandler {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, unknown> };
  const known = Object.keys(properties);
  return (request, _reply, done) => {
    const unknown = Object.keys(request.query as object).find((name) => !known.includes(name));
    done(unknown === undefined ? undefined : new ApiError(400, describe(unknown, known)));
  };
}

const maxShownLength = 60;

function describe(name: string, known: readonly string[]): string {
  const shown = JSON.stringify(name.length > maxShownLength ? `${name.slice(0, maxShownLength)}…` : name);
  const nearest = nearestName(name, known);
  if (nearest !== undefined) return `${shown} is no query parameter of this route: did you mean ${nearest}?`;
  const others = known.length === 0 ? "it takes none" : `it takes ${known.join(", ")}`;
  return `${shown} is no query parameter of this route: ${others}`;
}

/**
 * Query strings are text; this turns the parameters that the schema declares as integers into numbers before
 * validation. Text that is no plain decimal integer stays text, which validation then refuses by name. Ajv's own
 * coercion would also take `1e3`, `0x10` and blanks, and bodies must not be coerced at all.
 */
export function queryNumbers(schema: TSchema | undefined): preValidationHookHandler[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  const names = Object.keys(properties).filter((name) => properties[name]!.type === "integer");
  if (names.length === 0) return [];
  return [
    (request, _reply, done) => {
      const query = request.query as Record<string, unknown>;
      for (const name of names) {
        const text = query[name];
        if (typeof text === "string" && decimalInteger.test(text)) query[name] = Number(text);
      }
      done();
    },
  ];
}

const decimalInteger = /^-?\d{1,15}$/;
