/** Notes which members of public objects a test uses, so that it can tell which ones it leaves out. */
export class Walk {
  readonly #offered = new Set<string>();
  readonly #used = new Set<string>();

  /** What it was given, which from now on notes each member that is read, as `part.member`. */
  noting<T extends object>(part: string, noted: T): T {
    for (const member of membersOf(noted)) this.#offered.add(`${part}.${member}`);
    return new Proxy(noted, {
      get: (target, name) => {
        if (typeof name === "string") this.#used.add(`${part}.${name}`);
        const member: unknown = Reflect.get(target, name);
        // A method may rest on private members, which a proxy does not have.
        return typeof member === "function" && !Object.hasOwn(target, name) ? member.bind(target) : member;
      },
    });
  }

  /** What was offered and never read. */
  get left(): readonly string[] {
    return [...this.#offered].filter((name) => !this.#used.has(name)).toSorted();
  }
}

/** Own members and those of its classes. */
function membersOf(noted: object): readonly string[] {
  const names = Object.keys(noted);
  for (let each = Object.getPrototypeOf(noted); each !== Object.prototype; each = Object.getPrototypeOf(each)) {
    names.push(...Object.getOwnPropertyNames(each).filter((name) => name !== "constructor"));
  }
  return names;
}
