/**
 * Text that a sender may have chosen, made harmless for a terminal.
 *
 * A terminal acts on control characters (colours, cursor, titles, pasted commands), and the eye is
 * misled by invisible ones and by those that turn the direction of writing. Each is shown as what it
 * is instead: `\u{1b}`.
 */
const active = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** One line of inert text. */
export function inertText(text: string): string {
  return text.replaceAll(active, (character) => String.raw`\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Inert text whose line ends stay. */
export function inertLines(text: string): string {
  return text.split("\n").map(inertText).join("\n");
}

/** A value as JSON on one line; what is active is escaped, so that it reads back the same. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(active, (character) => {
    const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
    return units.map((unit) => String.raw`\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
