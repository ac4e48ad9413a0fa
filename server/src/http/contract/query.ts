import type { preValidationHookHandler } from "fastify";
import type { TSchema } from "typebox";
import { nearestName } from "../../config/nearestName.ts";
import { ApiError } from "./errors.ts";

/**
 * Refuses query parameters that a route does not know, because a misspelt filter would list everything, and parameters that are
 * given more than once.
 */
export function knownQuery(schema: TSchema | undefined): preValidationHookHandler {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, unknown> };
  const known = Object.keys(properties);
  return (request, _reply, done) => {
    const given = request.query as Record<string, unknown>;
    const unknown = Object.keys(given).find((name) => !known.includes(name));
    if (unknown !== undefined) return done(new ApiError(400, describe(unknown, known)));
    const repeated = known.find((name) => Array.isArray(given[name]));
    done(repeated === undefined ? undefined : new ApiError(400, `${repeated} is given more than once`));
  };
}

const maxShownLength = 60;

function describe(name: string, known: readonly string[]): string {
  const shown = JSON.stringify(name.length > maxShownLength ? `${name.slice(0, maxShownLength)}…` : name);
  const nearest = nearestName(name, known);
  if (nearest !== undefined)
    return `${shown} is not a query parameter of this route: did you mean ${nearest}?`;
  const others = known.length === 0 ? "the route takes no parameters" : `the route takes ${known.join(", ")}`;
  return `${shown} is not a query parameter of this route: ${others}`;
}

/**
 * Converts query parameters that the schema declares as integers from text to numbers, before validation. Text that is not a
 * plain decimal integer stays text, and validation refuses it with the parameter's name. Ajv's own coercion is not used, because
 * it also accepts `1e3`, `0x10` and blanks, and would coerce bodies, too.
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
