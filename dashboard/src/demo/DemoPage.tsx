import { Link } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight, Pause, Play } from "lucide-react";
import { useEffect, useState } from "react";
import { basePath } from "../api/basePath.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { StatusPill } from "../items/StatusPill.tsx";
import { useKeys } from "../shell/useKeys.ts";
import { toggleTheme } from "../shell/theme.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { type Scene, type Story, stories } from "./stories.ts";

/** A demonstration of the service, step by step in the browser, without account or requests. */
export function DemoPage() {
  const [search, change] = useUrlState();
  const story = stories.find(({ id }) => id === search["story"]) ?? stories[0]!;
  useKeys({ t: toggleTheme });
  return (
    <main className="mx-auto grid max-w-220 gap-4 p-4 md:p-8">
      <header className="flex flex-wrap items-center justify-between gap-3">
        <Link to="/" search={{}} className="flex items-center gap-2 text-section font-semibold">
          <img src={`${basePath}mark.svg`} alt="" width={24} height={24} />
          Postrider
        </Link>
        <div className="flex gap-2">
          <Link to="/sign-in" className={buttonLook()}>
            Sign in
          </Link>
          <Link to="/sign-up" className={buttonLook("primary")}>
            Sign up
          </Link>
        </div>
      </header>
      <div className="grid gap-1">
        <h1 className="text-page font-semibold">Demo</h1>
        <p className="text-muted">A simulation in your browser: nothing is sent, and nobody is billed.</p>
      </div>
      <div role="group" aria-label="Story" className="flex flex-wrap gap-2">
        {stories.map(({ id, name }) => (
          <Button
            key={id}
            look={id === story.id ? "primary" : "plain"}
            aria-pressed={id === story.id}
            onClick={() => change({ story: id })}
          >
            {name}
          </Button>
        ))}
      </div>
      <Player key={story.id} story={story} />
    </main>
  );
}

const sceneMs = 3000;

function Player({ story }: { story: Story }) {
  const [at, setAt] = useState(0);
  const [isPlaying, setPlaying] = useState(false);
  const last = story.scenes.length - 1;
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setTimeout(() => (at < last ? setAt(at + 1) : setPlaying(false)), sceneMs);
    return () => clearTimeout(timer);
  }, [isPlaying, at, last]);
  const step = (by: number): void => {
    setPlaying(false);
    setAt(Math.min(last, Math.max(0, at + by)));
  };
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap gap-2">
        <Button icon={<ChevronLeft size={14} aria-hidden />} disabled={at === 0} onClick={() => step(-1)}>
          Previous step
        </Button>
        <Button
          icon={isPlaying ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
          onClick={() => {
            if (at === last) setAt(0);
            setPlaying(!isPlaying);
          }}
        >
          {isPlaying ? "Pause" : "Play"}
        </Button>
        <Button icon={<ChevronRight size={14} aria-hidden />} disabled={at === last} onClick={() => step(1)}>
          Next step
        </Button>
      </div>
      <ol className="grid gap-3" aria-live="polite">
        {story.scenes.slice(0, at + 1).map((scene) => (
          <li key={scene.title}>
            <SceneCard scene={scene} />
          </li>
        ))}
      </ol>
    </div>
  );
}

function SceneCard({ scene }: { scene: Scene }) {
  return (
    <Card title={scene.title} aside={<StatusPill status={scene.status} />}>
      <div className="grid gap-3">
        <p>{scene.text}</p>
        <pre
          tabIndex={0}
          aria-label={scene.title}
          className="rounded-control bg-sunken p-3 text-meta wrap-anywhere whitespace-pre-wrap"
        >
          {scene.lines.join("\n")}
        </pre>
      </div>
    </Card>
  );
}
