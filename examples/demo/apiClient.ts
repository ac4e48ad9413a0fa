/** A small client of the HTTP interface, with the calls that the examples need. */
export class ApiClient {
  readonly #base: string;
  #key: string | undefined;

  constructor(base: string) {
    this.#base = base.replace(/\/$/, "");
  }

  /** Sends this API key with all further calls. */
  useKey(key: string): void {
    this.#key = key;
  }

  get(path: string): Promise<Answer> {
    return this.#call("GET", path);
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.#call("POST", path, body, headers);
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.#call("PUT", path, body);
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.#call("PATCH", path, body);
  }

  async #call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await fetch(this.#base + path, {
      method,
      headers: {
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = (await answer.json()) as Record<string, unknown>;
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${String(json["error"])}`);
    return { status: answer.status, headers: answer.headers, json };
  }
}

export interface Answer {
  status: number;
  headers: Headers;
  json: Record<string, unknown>;
}
