//! STRING links, versions 9.1 to 12: `protein1 protein2` and integer scores of 0 to 1000, separated by one space.
//!
//! `links.detailed` and `links.full` have a column per channel, `physical.links` one score alone. Several channels are
//! read in one pass. The file lists every edge in both directions; a 0 is not an edge.

use super::{EdgeCollector, NetworkFile, Orientation, name_of};
use crate::import::fault;
use crate::import::names::Names;
use crate::import::read::{ColumnNames, Header, Quotes, Separator, Style};
use crate::import::source::{RowTally, Source};
use knockout_base::error::Error;
use knockout_data::cell::Entries;
use std::collections::BTreeMap;
use std::path::Path;

const STYLE: Style =
    Style { format: "STRING links", separator: Some(Separator::Space), quotes: Quotes::Plain };

/// The six channels of `links.detailed` that models use; text mining and the combined score must be named.
pub const CHANNELS: [&str; 6] =
    ["neighborhood", "fusion", "cooccurence", "coexpression", "experimental", "database"];

/// Options of a STRING file.
#[derive(Debug, Clone)]
pub struct StringOptions<'o> {
    /// Channels; empty for the six of `links.detailed`, or the combined score of a file that has no channels.
    pub channels: &'o [String],
    /// Scores below it are not edges.
    pub threshold: u32,
    /// Thresholds of single channels.
    pub thresholds: &'o BTreeMap<String, u32>,
    /// First part of the networks' names, or the whole name of a single one; from the file's version otherwise.
    pub prefix: Option<&'o str>,
    /// The species, by its taxon.
    pub taxon: u32,
    /// Entries per edge.
    pub entries: Entries,
}

/// Reads all channels in one pass.
pub fn read(source: &Source<'_>, names: &Names, options: &StringOptions<'_>) -> Result<NetworkFile, Error> {
    let ids = [ColumnNames::required(["protein1"]), ColumnNames::required(["protein2"])];
    let (mut table, found) = source.table(STYLE, &ids)?;
    let (Some(first), Some(second)) = (found[0], found[1]) else {
        return Err(source.fail(fault::empty("header line")));
    };
    let channels = channels_of(table.header(), options).map_err(|kind| source.fail(kind))?;
    let name_of = |channel: &Channel| match options.prefix {
        // A name for a single network is its name.
        Some(name) if channels.len() == 1 => name.to_owned(),
        Some(prefix) => format!("{prefix}_{}", channel.name),
        None => format!("{}_{}", prefix_of(source.path()), channel.name),
    };
    let mut networks: Vec<EdgeCollector> = channels
        .iter()
        .map(|channel| EdgeCollector::new(name_of(channel), Orientation::Undirected(options.entries)))
        .collect();
    let taxon = format!("{}.", options.taxon);
    let mut tally = RowTally::default();
    while let Some(row) = table.next_row()? {
        tally.rows += 1;
        let ids = [row.bytes(first), row.bytes(second)];
        if let Some(bad) = ids.iter().position(|id| !is_id(id)) {
            return Err(row.bad([first, second][bad], "a STRING id such as 4932.YAL001C"));
        }
        let (Some(a), Some(b)) =
            (ids[0].strip_prefix(taxon.as_bytes()), ids[1].strip_prefix(taxon.as_bytes()))
        else {
            tally.skip("another species");
            continue;
        };
        let ends = tally.ends(names, [a, b], row.line());
        let mut is_edge = false;
        for (channel, network) in channels.iter().zip(&mut networks) {
            let score = row.whole(channel.column, "a STRING score, a whole number from 0 to 1000")?;
            if score > 1000 {
                return Err(row.bad(channel.column, "a STRING score, a whole number from 0 to 1000"));
            }
            if score > 0 && score >= channel.threshold {
                is_edge = true;
                if let Some([a, b]) = ends {
                    network.push(a, b, score as f32 / 1000.0);
                }
            }
        }
        if ends.is_some() && !is_edge {
            tally.skip("no score at or above the threshold");
        }
    }
    Ok(NetworkFile { networks, tally })
}

struct Channel {
    name: String,
    column: usize,
    threshold: u32,
}

fn channels_of(header: &Header, options: &StringOptions<'_>) -> Result<Vec<Channel>, Error> {
    let has = |name: &str| header.resolve(&[ColumnNames::required(columns_of(name))]).is_ok();
    let wanted: Vec<String> = if !options.channels.is_empty() {
        options.channels.to_vec()
    } else if has("neighborhood") {
        CHANNELS.map(str::to_owned).to_vec()
    } else {
        vec!["combined_score".to_owned()]
    };
    if let Some(stray) = options.thresholds.keys().find(|name| !wanted.contains(name)) {
        return Err(fault::request(format!(
            "there is a threshold for {stray:?}, which is not among the channels read ({})",
            wanted.join(", ")
        )));
    }
    let columns: Vec<ColumnNames<'_>> =
        wanted.iter().map(|name| ColumnNames::required(columns_of(name))).collect();
    let found = header.resolve(&columns)?;
    // `physical.links` is named by what it is, not by its only column.
    let label = |name: &str| if name == "combined_score" { "combined".to_owned() } else { name.to_owned() };
    Ok(wanted
        .iter()
        .zip(found)
        .filter_map(|(name, column)| {
            let threshold = options.thresholds.get(name).copied().unwrap_or(options.threshold);
            column.map(|column| Channel { name: label(name), column, threshold })
        })
        .collect())
}

/// The columns of a channel: `experiments` in `links.full` is `experimental` in `links.detailed`.
fn columns_of(channel: &str) -> Vec<&str> {
    match channel {
        "experimental" => vec!["experimental", "experiments"],
        "cooccurence" | "cooccurrence" => vec!["cooccurence", "cooccurrence"],
        other => vec![other],
    }
}

/// `string12_0` from `4932.protein.links.detailed.v12.0.txt.gz`, with `_physical` for the physical subnetwork.
fn prefix_of(path: &Path) -> String {
    let name = name_of(path);
    let version = name.rsplit_once(".v").map(|(_, version)| version.replace('.', "_"));
    let is_version =
        |text: &String| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let physical = if name.contains("physical") { "_physical" } else { "" };
    format!("string{}{physical}", version.filter(is_version).unwrap_or_default())
}

/// `4932.YAL001C`: digits, a dot, a name.
fn is_id(id: &[u8]) -> bool {
    memchr::memchr(b'.', id)
        .is_some_and(|dot| dot > 0 && dot + 1 < id.len() && id[..dot].iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_networks() {
        assert_eq!(prefix_of(Path::new("x/4932.protein.links.detailed.v9.1.txt.gz")), "string9_1");
        assert_eq!(
            prefix_of(Path::new("4932.protein.physical.links.full.v12.0.txt.gz")),
            "string12_0_physical"
        );
        assert_eq!(prefix_of(Path::new("links.txt")), "string");
    }
}
