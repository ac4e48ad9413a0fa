import {
  ArrowLeftRight,
  ChartNoAxesColumn,
  Inbox,
  LayoutDashboard,
  ListOrdered,
  type LucideIcon,
  Megaphone,
  RotateCcw,
  Settings,
  Tags,
  Target,
  Users,
} from "lucide-react";

export interface Page {
  path: string;
  name: string;
  icon: LucideIcon;
  /** The key after `g`. */
  key?: string;
}

/** The sidebar, from top to bottom. */
export const pages: readonly Page[] = [
  { path: "/", name: "Overview", icon: LayoutDashboard, key: "o" },
  { path: "/items", name: "Items", icon: ListOrdered, key: "i" },
  { path: "/targets", name: "Targets", icon: Target, key: "t" },
  { path: "/customers", name: "Customers", icon: Users, key: "c" },
  { path: "/event-types", name: "Event types", icon: Tags, key: "e" },
  { path: "/publications", name: "Publications", icon: Megaphone, key: "p" },
  { path: "/mailboxes", name: "Mailboxes", icon: Inbox, key: "m" },
  { path: "/handoffs", name: "Handoffs", icon: ArrowLeftRight, key: "h" },
  { path: "/replays", name: "Replays", icon: RotateCcw },
  { path: "/usage", name: "Usage", icon: ChartNoAxesColumn },
  { path: "/settings", name: "Settings", icon: Settings },
];
