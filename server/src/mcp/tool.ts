import type { Static, TObject } from "typebox";
import { Compile } from "typebox/compile";
import type { CallInterface } from "./interfaceCall.ts";

/** The protocol's hints about a tool's effects; a client may ask its user by them. */
export interface Annotations {
  title: string;
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** Around one call of a tool. */
export interface ToolContext {
  callInterface: CallInterface;
  /** Aborts when the caller gives the call up. */
  signal: AbortSignal;
  /** Has this done if it turns out that the answer reached nobody. */
  onUnheard: (undo: () => Promise<void>) => void;
}

/** A tool as agents see it, and what it does. */
export interface Tool {
  name: string;
  description: string;
  annotations: Annotations;
  inputSchema: TObject;
  outputSchema: TObject;
  /** @throws {ArgumentError} @throws {CallRefusedError} */
  run: (input: unknown, context: ToolContext) => Promise<Record<string, unknown>>;
}

/** The arguments are not as the tool's schema says. */
export class ArgumentError extends Error {
  override name = "ArgumentError";
}

/** A tool whose arguments are checked before `run` sees them. */
export function defineTool<Input extends TObject, Output extends TObject>(
  described: Omit<Tool, "run" | "inputSchema" | "outputSchema"> & {
    inputSchema: Input;
    outputSchema: Output;
  },
  run: (input: Static<Input>, context: ToolContext) => Promise<Static<Output> & Record<string, unknown>>,
): Tool {
  const validator = Compile(described.inputSchema);
  return {
    ...described,
    async run(input, context) {
      if (validator.Check(input)) return run(input, context);
      throw new ArgumentError(
        validator
          .Errors(input)
          .slice(0, 3)
          .map(({ instancePath, message }) => `${instancePath.slice(1) || "arguments"}: ${message}`)
          .join("; "),
      );
    },
  };
}

/** Looks and changes nothing. */
export function reads(title: string): Annotations {
  return { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}

/** Changes something; what is not said is not so. */
export function changes(title: string, what: Partial<Omit<Annotations, "title">> = {}): Annotations {
  const nothing = {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  };
  return { title, ...nothing, ...what };
}
