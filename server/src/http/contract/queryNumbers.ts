import type { preValidationHookHandler } from "fastify";
import type { TSchema } from "typebox";

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
