/** Repeats a step that handles up to `most` rows, until it handles fewer. @returns the number of rows of all steps. */
export async function repeatWhileFull(most: number, step: () => Promise<number>): Promise<number> {
  for (let total = 0; ;) {
    const count = await step();
    total += count;
    if (count < most) return total;
  }
}
