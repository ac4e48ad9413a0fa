import { bucketOf, idTimeMs, newId, slotOf } from "../postgres/ids.ts";

/** Items of one batch that share a row of `deliveries`. */
export interface Group {
  /** The row's id; the item's own id if the group has one item. */
  id: string;
  isImmediate: boolean;
  /** The items' numbers in the batch, from 1, in ascending order of their ids. */
  numbers: number[];
}

/** The most items of a row; the table has a CHECK for it. Their ids take 1 KiB. */
const maxGroup = 64;

/** Groups the items of each pair that are dispatched in the same way, so that many items share one row and one lease. */
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
