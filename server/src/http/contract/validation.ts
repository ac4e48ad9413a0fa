import type { FastifyError } from "fastify";
import { latestMoment } from "./schemas.ts";
import { rules } from "./textForms.ts";

/**
 * One sentence for a request that does not match its schema: the field, and its expected value.
 * @param missingFields the route's message in place of "<field> is required".
 */
export function describeValidation(error: FastifyError, missingFields?: string): string {
  const first = error.validation?.[0];
  if (first === undefined) return "the request is not valid";
  const location =
    error.validationContext === "querystring" ? "the query" : `the ${error.validationContext ?? "body"}`;
  const field = first.instancePath.split("/").filter(Boolean).join(".");
  const params = first.params as {
    missingProperty?: string;
    type?: string;
    limit?: number;
    allowedValues?: unknown[];
    pattern?: string;
  };
  if (missingFields !== undefined && error.validationContext === "body") {
    if (first.instancePath === "" && (first.keyword === "required" || first.keyword === "type"))
      return missingFields;
  }
  if (first.keyword === "required") {
    const name = field === "" ? params.missingProperty : `${field}.${params.missingProperty}`;
    return `${name} is required`;
  }
  if (field === "") return `${location} must be ${article(params.type ?? "object")}`;
  const { parentSchema } = first as { parentSchema?: { maximum?: unknown } };
  const unit = parentSchema?.maximum === latestMoment ? ": a time in Unix seconds" : "";
  switch (first.keyword) {
    case "type":
      return `${field} must be ${article(String(params.type))}${unit}`;
    case "minLength":
      return params.limit === 1
        ? `${field} must not be empty`
        : `${field} must be at least ${params.limit} characters`;
    case "maxLength":
      return `${field} must be at most ${params.limit} characters`;
    case "minimum":
      return `${field} must be at least ${params.limit}`;
    case "maximum":
      return `${field} must be at most ${params.limit}${unit && `${unit}, not in milliseconds`}`;
    case "minItems":
      return `${field} must have at least ${params.limit} elements`;
    case "maxItems":
      return `${field} must have at most ${params.limit} elements`;
    case "maxProperties":
      return `${field} must have at most ${params.limit} entries`;
    case "uniqueItems":
      return `${field} must not have the same element twice`;
    case "pattern":
      return `${field} ${rules.get(params.pattern) ?? "has a wrong form"}`;
    case "enum":
      return `${field} must be one of ${params.allowedValues?.join(", ")}`;
    case "const":
    case "anyOf":
      return `${field} ${oneOf(constantsAt(error, first.instancePath))}`;
    default:
      return `${field} ${first.message ?? "is not valid"}`;
  }
}

/** The values of a union of constants, collected from the error of each member. */
function constantsAt(error: FastifyError, path: string): unknown[] {
  return (error.validation ?? [])
    .filter(({ keyword, instancePath }) => keyword === "const" && instancePath === path)
    .map(({ params }) => params["allowedValue"]);
}

/** If there are more values than this, the message does not list them. */
const maxNamedValues = 12;

function oneOf(values: readonly unknown[]): string {
  const areNamed = values.length > 0 && values.length <= maxNamedValues;
  return areNamed ? `must be one of ${values.join(", ")}` : "is not one of the accepted values";
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}
