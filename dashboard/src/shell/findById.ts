import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { pageOf } from "../targets/kinds/kinds.ts";

/** The id within a pasted text, such as an id, a link or a log line. */
export function idIn(text: string): string | undefined {
  return /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/i.exec(text)?.[0].toLowerCase();
}

/** The path of the page for the object with this id; undefined if the organization has no such object. @throws {Problem} */
export async function findById(id: string): Promise<string | undefined> {
  const path = { id };
  const places = [
    async () => {
      const { event } = await answer(client.GET("/api/v1/events/{id}", { params: { path } }));
      return `/items/${event.id}`;
    },
    async () => {
      const target = await answer(client.GET("/api/v1/targets/{id}", { params: { path } }));
      return pageOf(target);
    },
    async () => {
      const replay = await answer(client.GET("/api/v1/replays/{id}", { params: { path } }));
      return `/replays/${replay.id}`;
    },
    async () => {
      const { publication } = await answer(client.GET("/api/v1/publications/{id}", { params: { path } }));
      return `/publications/${publication.id}`;
    },
  ];
  for (const place of places) {
    try {
      return await place();
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
    }
  }
  return undefined;
}
