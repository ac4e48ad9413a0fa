import type { Session } from "./session.ts";

/** An option of a command, as `--help` and completion show it. */
export interface Option {
  /** Placeholder of the value in the help; absent if the option has no value. */
  value?: string;
  /** Whether the option may be repeated. */
  multiple?: boolean;
  /** All valid values, if they are few. */
  choices?: readonly string[];
  help: string;
}

export type Options = Readonly<Record<string, Option>>;

/** The parsed command line. */
export interface Input {
  words: readonly string[];
  /** The arguments after `--`. */
  rest: readonly string[];
  text: (option: string) => string | undefined;
  texts: (option: string) => readonly string[];
  flag: (option: string) => boolean;
  /** @throws {UsageError} when the value is no whole number from `min` to `max`. */
  number: (option: string, min: number, max: number) => number | undefined;
}

/** One command, or a group: a group has subcommands and no `run`. */
export interface Command {
  name: string;
  summary: string;
  /** The arguments, such as `<target> <file>`. Square brackets mark an optional one, `…` a last one that may be repeated. */
  words?: string;
  /** Completions of the arguments. */
  wordChoices?: readonly string[];
  /** Further text of the help. */
  details?: string;
  options?: Options;
  commands?: readonly Command[];
  /** Whether the command calls no service, so that it has no options for a connection. */
  isLocal?: boolean;
  /** Whether the command belongs to another package: `run` only says which, whatever the arguments are. */
  isElsewhere?: boolean;
  run?(session: Session, input: Input): Promise<void>;
}

/** Options of every command that calls a service. */
export const connectionOptions: Options = {
  server: {
    value: "URL",
    help: "address of the service; default: POSTRIDER_URL, the profile's, or http://127.0.0.1:8080",
  },
  profile: { value: "NAME", help: "profile stored by postrider login; or POSTRIDER_PROFILE" },
  "key-stdin": { help: "read the API key from standard input; default: POSTRIDER_KEY, or the profile's" },
};

/** Options of every command. */
export const commonOptions: Options = {
  json: { help: "print JSON, one document per line" },
  help: { help: "show this text" },
};

export function optionsOf(command: Command): Options {
  return {
    ...command.options,
    ...(command.isLocal === true ? {} : connectionOptions),
    ...commonOptions,
  };
}
