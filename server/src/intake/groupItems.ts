import { bucketOf, idTimeMs, newId, slotOf } from "../postgres/ids.ts";

/** Items of one batch that wait in one row of `deliveries`. */
export interface Group {
  /** The item's own when it is alone. */
  id: string;
  isImmediate: boolean;
  /** The items' numbers in the batch, from 1, in ascending order of their ids. */
  numbers: number[];
}

/** The most items of a row, which the table checks, too. Their ids take a kilobyte. */
const maxGroup = 64;

/** Gathers the items of each pair that will be dispatched alike, so that one row and one lease serve many. */
export function groupItems(
  items: readonly { id: string }[],
  pairNumbers: readonly number[],
  immediate: readonly boolean[],
): Group[] {
  const groups: Group[] = [];
  const open = new Map<number, Group>();
  let slot = -1;
  for (let index = 0; index < items.length; index++) {
    const { id } = items[index]!;
    if (slotOf(id) !== slot) {
      slot = slotOf(id);
      open.clear();
    }
    const key = pairNumbers[index]! * 2 + Number(immediate[index]);
    const group = open.get(key);
    if (group === undefined || group.numbers.length === maxGroup) {
      const begun = { id, isImmediate: immediate[index]!, numbers: [index + 1] };
      groups.push(begun);
      open.set(key, begun);
    } else {
      group.numbers.push(index + 1);
    }
  }
  for (const group of groups) {
    if (group.numbers.length === 1) continue;
    group.id = newId(bucketOf(group.id), idTimeMs(group.id));
    group.numbers.sort((one, other) => (items[one - 1]!.id < items[other - 1]!.id ? -1 : 1));
  }
  return groups;
}

/** The running total of items after each group. */
export function endsOf(groups: readonly Group[]): number[] {
  let end = 0;
  return groups.map((group) => (end += group.numbers.length));
}
