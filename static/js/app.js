// What every page loads. Pages work without any of it: scripts add keys, the
// reader's own time zone, and prompts that save a round trip.
import { startAnswers } from "./answer.js";
import { startCopies } from "./copy.js";
import { startKeys } from "./keys.js";
import { startLink } from "./link.js";
import { startLive } from "./live.js";
import { startPalette } from "./palette.js";
import { startRows } from "./rows.js";
import { startTimes } from "./times.js";
import { startToasts } from "./toasts.js";

startTimes(document);
startAnswers(document);
startRows(document);
startKeys(document);
startPalette(document);
startToasts(document);
startCopies(document);
startLink(document);
startLive();
