/** Text that is HTML already. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** A template for HTML. Escapes its values, except values that are {@link Html}. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0]!;
  for (const [index, part] of parts.entries()) text += textOf(part) + strings[index + 1]!;
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(textOf).join("");
  return String(part).replaceAll(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}

/** A description as HTML: lines become paragraphs, and text between backticks becomes code. */
export function prose(description: string | undefined): Html | undefined {
  if (description === undefined || description === "") return undefined;
  return html`${description.split("\n").map((line) => html`<p>${inline(line)}</p>`)}`;
}

export function inline(line: string): Html {
  return html`${line.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
