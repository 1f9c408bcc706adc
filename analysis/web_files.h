// What an HTML report embeds. The text of these is made at build time out of web/ and
// of the packages that web/package.json names.
//
// Mainland. Constants.

#ifndef HEAPTAPE_ANALYSIS_WEB_FILES_H_
#define HEAPTAPE_ANALYSIS_WEB_FILES_H_

namespace heaptape {

extern const char kUplotScript[];
extern const char kUplotCss[];
extern const char kReportScript[];
extern const char kReportCss[];

}  // namespace heaptape

#endif  // HEAPTAPE_ANALYSIS_WEB_FILES_H_
